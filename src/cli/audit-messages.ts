import type { ManagementOutputs } from "@countersign/admin";
import type { Extent, Shortfall } from "../audit-chain/extent.ts";
import type { FaultKind, Proof, Verdict } from "../audit-chain/verify.ts";
import { printable, when } from "./table.ts";

const FAULTS: Readonly<Record<FaultKind, string>> = {
  malformed: "the line is none that an export has",
  record_missing: "the record is missing: removed, cut off or in another place",
  record_out_of_order: "the record stands where it does not belong",
  record_altered: "the record is not what was sealed",
  key_untrusted: "the next checkpoint is signed by a key that is not trusted",
  checkpoint_forged: "the next checkpoint bears no good signature",
  checkpoint_contradicts: "the next checkpoint says otherwise: a record from here on is not what was sealed",
  unsigned: "no checkpoint vouches for the records",
};

/** What a verification found, in words. */
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
    ...(anchored ? [] : [`what stands before record ${first} is taken as told`]),
  ].join("\n");
}

/** What a sound export lacks, in words. */
export function shortfallWords(shortfall: Shortfall, { first, signedTo }: Proof, { after = 0, atLeast }: Extent): string {
  const why: Readonly<Record<Shortfall, string>> = {
    begins_elsewhere: `it begins after record ${first - 1}, not after ${after}; if it is meant to, say --after ${first - 1}`,
    no_records: "it has no records, which proves nothing; if there are none yet, say --after 0",
    falls_short: `it is signed up to record ${signedTo}, which is less than ${atLeast}`,
  };
  return `NOT SOUND as the whole of the trail: ${why[shortfall]} [${shortfall}]`;
}

type Listed = ManagementOutputs["operator"]["audit"]["list"]["records"][number];

/** A record in one line. Text in it comes from strangers. */
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
  const told = Object.entries(members).flatMap(([name, value]) =>
    value === undefined || value === "" ? [] : [`${name}=${/[\s"]/.test(value) ? JSON.stringify(value) : value}`],
  );
  const words = [String(seq ?? "-"), when(at), event, outcome, reason && `(${reason})`, `${actor.type}:${actor.id}`, ...told];
  return printable(words.filter((word) => word !== undefined && word !== "").join(" "));
}
