import type { ManagementOutputs } from "@countersign/admin";
import type { Extent, Shortfall } from "../audit-chain/extent.ts";
import type { FaultKind, Proof, Verdict } from "../audit-chain/verify.ts";
import { printable, when } from "./table.ts";

const FAULTS: Readonly<Record<FaultKind, string>> = {
  malformed: "the line is not one of an export",
  record_missing: "the record is missing: removed, cut off or in another place",
  record_out_of_order: "the record is in the wrong place",
  record_altered: "the record is not what was sealed",
  key_untrusted: "the next checkpoint is signed by a key that is not trusted",
  checkpoint_forged: "the next checkpoint has no valid signature",
  checkpoint_contradicts: "the next checkpoint contradicts it: a record from here on is not what was sealed",
  unsigned: "no checkpoint covers the records",
};

/** The result of a verification in words. */
export function auditVerdict(verdict: Verdict): string {
  if (verdict.kind === "unsound") {
    const { kind, line, seq, recordId } = verdict.fault;
    const id = recordId === undefined ? "" : ` (${printable(recordId)})`;
    return `NOT SOUND at record ${seq}${id}, line ${line}: ${FAULTS[kind]} [${kind}]`;
  }
  const { first, last, records, checkpoints, signedTo, anchored } = verdict.proof;
  if (records === 0) return "sound: there are no records";
  return [
    `sound: records ${first} to ${last}, signed up to ${signedTo} (${checkpoints} checkpoints)`,
    ...(signedTo < last ? [`records ${signedTo + 1} to ${last} are chained and not signed yet`] : []),
    ...(anchored ? [] : [`the records before record ${first} were not verified`]),
  ].join("\n");
}

/** What an intact export lacks, in words. */
export function shortfallWords(shortfall: Shortfall, { first, signedTo }: Proof, { after = 0, atLeast }: Extent): string {
  const why: Readonly<Record<Shortfall, string>> = {
    begins_elsewhere: `it begins after record ${first - 1}, not after ${after}; if that is intended, give --after ${first - 1}`,
    no_records: "it has no records, which proves nothing; if there are none yet, give --after 0",
    falls_short: `it is signed up to record ${signedTo}, which is less than ${atLeast}`,
  };
  return `NOT SOUND as the whole of the trail: ${why[shortfall]} [${shortfall}]`;
}

type Listed = ManagementOutputs["operator"]["audit"]["list"]["records"][number];

/** A record in one line. Its texts are not trusted. */
export function tailLine({ seq, at, event, outcome, reason, actor, ip, ...about }: Listed): string {
  const { userId, clientId, grantType, scope, resources, grantId, jti, actChain, requestId, repeats } = about;
  const members = {
    user: userId,
    client: clientId,
    grantType: grantType?.split(":").at(-1),
    scope,
    resources: resources?.join(" "),
    acting: actChain.join(" < "),
    grant: grantId,
    jti,
    ip,
    request: requestId,
    repeats: repeats === undefined ? undefined : String(repeats),
  };
  const details = Object.entries(members).flatMap(([name, value]) =>
    value === undefined || value === "" ? [] : [`${name}=${/[\s"]/.test(value) ? JSON.stringify(value) : value}`],
  );
  const words = [String(seq ?? "-"), when(at), event, outcome, reason && `(${reason})`, `${actor.type}:${actor.id}`, ...details];
  return printable(words.filter((word) => word !== undefined && word !== "").join(" "));
}
