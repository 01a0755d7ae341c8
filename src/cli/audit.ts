import { createReadStream } from "node:fs";
import { setTimeout } from "node:timers/promises";
import type { AdminClient, ManagementInputs, ManagementOutputs } from "@countersign/admin";
import { type Command, InvalidArgumentError } from "commander";
import type { Extent, FaultKind, Proof, Shortfall, Verdict } from "../audit-chain/verify.ts";
import { CommandFailure, EXIT, EXIT_CODES, shownFile } from "./failure.ts";
import { collect, digits, managing, moment, setting } from "./management-api.ts";
import { asJsonLine, printable, when } from "./table.ts";
import { ifAway, running, type Terminal } from "./terminal.ts";
import { asId, userId } from "./user-files-and-factors.ts";

type Filter = Omit<ManagementInputs["operator"]["audit"]["follow"], "limit" | "after">;
type Listed = ManagementOutputs["operator"]["audit"]["list"]["records"][number];

/** `userId` may be an e-mail address. */
type TailOptions = Filter & { readonly lines?: number; readonly follow?: true; readonly json?: true };

type VerifyOptions = Extent & { readonly trust?: readonly string[] };

/** Milliseconds between two queries of `tail --follow`. */
const POLL_INTERVAL = 1_000;
const TAIL_PAGE = 200;
/** The most lines that `tail` shows; `export` has no limit. */
const MAX_LINES = 10_000;
const LINES = 20;

const whole = digits(/^\d{1,15}$/, "a whole number");
const lineCount = (text: string): number => {
  const number = whole(text);
  if (number > MAX_LINES) throw new InvalidArgumentError(`must be at most ${MAX_LINES}: for more there is \`audit export\``);
  return number;
};

/** `countersign audit …`. @param pause waits between two queries of `tail --follow`; false ends it */
export function registerAuditCommands(
  program: Command,
  terminal: Terminal,
  pause: () => Promise<boolean> = () => setTimeout(POLL_INTERVAL, true),
): void {
  const audit = program.command("audit").description("the audit trail, for operators").addHelpText("after", EXIT_CODES);
  audit
    .command("tail")
    .description("show the newest sealed records, the oldest of them first")
    .option("-n, --lines <count>", `how many, at most ${MAX_LINES}; default: 20, and with --since or --until ${MAX_LINES}`, lineCount)
    .option("-f, --follow", "keep showing new records until interrupted")
    .option("--event <event>", "only this event, for instance token.issued")
    .option("--outcome <outcome>", "success or failure")
    .option("--reason <reason>", "only with this reason")
    .addOption(setting("actorId", "--actor <id>", "only by this user or client"))
    .addOption(setting("userId", "--user <user>", "only about this user, by id or e-mail address"))
    .addOption(setting("clientId", "--client <client_id>", "only about this client"))
    .addOption(setting("grantId", "--grant <id>", "only about this grant"))
    .addOption(setting("requestId", "--request <id>", "only of this request"))
    .addOption(setting("resource", "--resource <uri>", "only those that name this resource"))
    .addOption(
      setting("since", "--since <time>", "only from this time on: 90m, 24h, 7d, or 2026-10-01T08:30+02:00; UTC without an offset", moment),
    )
    .addOption(setting("until", "--until <time>", "only before this time", moment))
    .option("--json", "one JSON object for each line")
    .action(running(terminal, (options: TailOptions) => tail(options, terminal, pause)));
  audit
    .command("export")
    .description("the sealed records with checkpoints and public keys, as NDJSON for `audit verify`")
    .option("--after <number>", "only what follows this record of the chain; without it: all that the server has", whole)
    .action(
      running(terminal, async ({ after }: { readonly after?: number }) => {
        const { audit: trail, signingKeys } = (await managing(terminal)).operator;
        const { exportLines } = await import("../audit-chain/export.ts");
        const source = {
          keys: async () => (await signingKeys.list.query()).signingKeys,
          part: (limit: number, from: number) => trail.export.query({ limit, after: from }),
        };
        for await (const line of exportLines(source, after ?? (await trail.chain.query()).start)) terminal.write(line);
      }),
    );
  audit
    .command("verify <file>")
    .description(
      "verify an export in a file, or with - from standard input, without a server; exits with 1 and names the first record that is not what was sealed",
    )
    .option("--trust <kid>", "a trusted signing key; repeatable. Without it: the keys in the export", collect)
    .option("--after <number>", "the record after which the export begins; without it: the whole trail, of at least one record", whole)
    .option("--at-least <number>", "the record up to which it must be signed, for instance that of an earlier export", whole)
    .action(running(terminal, (file: string, options: VerifyOptions) => verify(file, options, terminal)));
}

async function tail(options: TailOptions, terminal: Terminal, pause: () => Promise<boolean>): Promise<void> {
  const show = (record: Listed): void => terminal.write(options.json ? asJsonLine(record) : tailLine(record));
  const admin = await managing(terminal);
  const filter = await filterOf(options, admin);
  let after = (await admin.operator.audit.chain.query()).head?.seq ?? 0;
  const isTimed = filter.since !== undefined || filter.until !== undefined;
  const newest = await newestSealed(admin, filter, options.lines ?? (isTimed ? MAX_LINES : LINES), after);
  for (const record of newest.toReversed()) show(record);
  if (newest.length === MAX_LINES)
    // Records of one transaction have one time: the earliest shown ones are repeated, so that none of theirs is left out.
    terminal.complain(
      `These are the newest ${MAX_LINES}. Earlier ones: --until ${when((newest.at(-1)?.at ?? 0) + 1)}; all: countersign audit export`,
    );
  const showNew = async (): Promise<void> => {
    for (let full = true; full; ) {
      const page = await admin.operator.audit.follow.query({ ...filter, after, limit: TAIL_PAGE });
      page.records.forEach(show);
      full = page.records.length === TAIL_PAGE;
      after = page.reached;
    }
  };
  let away = false;
  while (options.follow && (await pause())) {
    const wasAway = away;
    away = await showNew().then(() => false, ifAway(true));
    if (away && !wasAway) terminal.complain("The server does not answer. What it records until it does again follows then.");
  }
}

/** The newest sealed records up to a number of the chain, newest first. */
async function newestSealed({ operator }: AdminClient, filter: Filter, lines: number, upTo: number): Promise<readonly Listed[]> {
  const found: Listed[] = [];
  for (let cursor: string | undefined; found.length < lines; ) {
    const limit = Math.min(lines - found.length, TAIL_PAGE);
    const page = await operator.audit.list.query({ ...filter, limit, cursor });
    found.push(...page.records.filter(({ seq }) => seq !== null && seq <= upTo));
    if (page.nextCursor === null) break;
    cursor = page.nextCursor;
  }
  return found;
}

const filterOf = async ({ lines: _, follow: __, json: ___, ...filter }: TailOptions, admin: AdminClient): Promise<Filter> => ({
  ...filter,
  event: filter.event || undefined,
  outcome: filter.outcome || undefined,
  userId: filter.userId === undefined ? undefined : asId("--user", await userId(admin, filter.userId)),
  grantId: filter.grantId === undefined ? undefined : asId("--grant", filter.grantId),
});

/** The lines of a file, or with `-` of standard input. @throws {CommandFailure} for a file that cannot be read */
async function* linesIn(file: string): AsyncGenerator<string> {
  const { linesOf } = await import("../audit-chain/export-file.ts");
  try {
    yield* linesOf(file === "-" ? process.stdin : createReadStream(file));
  } catch {
    throw new CommandFailure(EXIT.failed, `${shownFile(file)} cannot be read.`);
  }
}

/** @throws {CommandFailure} for an export that was altered or is incomplete */
async function verify(file: string, { trust, ...extent }: VerifyOptions, terminal: Terminal): Promise<void> {
  const { shortfallOf, verification } = await import("../audit-chain/verify.ts");
  const verifying = verification(trust && new Set(trust));
  let isEmpty = true;
  for await (const line of linesIn(file)) {
    // The replacement character stands for the byte order mark of another encoding.
    if (isEmpty && line.startsWith("\ufffd")) throw new CommandFailure(EXIT.failed, `${shownFile(file)} is not UTF-8.`);
    isEmpty = false;
    if (verifying.take(line) !== undefined) break;
  }
  if (isEmpty) throw new CommandFailure(EXIT.failed, `${shownFile(file)} is empty.`);
  const verdict = verifying.end();
  if (verdict.kind === "unsound") throw new CommandFailure(EXIT.failed, auditVerdict(verdict));
  const shortfall = shortfallOf(verdict.proof, extent);
  if (shortfall !== undefined) throw new CommandFailure(EXIT.failed, shortfallWords(shortfall, verdict.proof, extent));
  terminal.write(auditVerdict(verdict));
}

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

function auditVerdict(verdict: Verdict): string {
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

function shortfallWords(shortfall: Shortfall, { first, signedTo }: Proof, { after = 0, atLeast }: Extent): string {
  const why: Readonly<Record<Shortfall, string>> = {
    begins_elsewhere: `it begins after record ${first - 1}, not after ${after}; if that is intended, give --after ${first - 1}`,
    no_records: "it has no records, which proves nothing; if there are none yet, give --after 0",
    falls_short: `it is signed up to record ${signedTo}, which is less than ${atLeast}`,
  };
  return `NOT SOUND as the whole of the trail: ${why[shortfall]} [${shortfall}]`;
}

/** A record in one line. Its texts are not trusted. */
function tailLine({ seq, at, event, outcome, reason, actor, ip, ...about }: Listed): string {
  const { userId, clientId, grantType, scope, resources, grantId, jti, actChain, requestId, repeats, note } = about;
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
    note,
  };
  const details = Object.entries(members).flatMap(([name, value]) =>
    value === undefined || value === "" ? [] : [`${name}=${/[\s"]/.test(value) ? JSON.stringify(value) : value}`],
  );
  const words = [String(seq ?? "-"), when(at), event, outcome, reason && `(${reason})`, `${actor.type}:${actor.id}`, ...details];
  return printable(words.filter((word) => word !== undefined && word !== "").join(" "));
}
