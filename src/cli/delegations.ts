import type { AdminClient, ManagementInputs, ManagementOutputs } from "@countersign/admin";
import type { Command } from "commander";
import { CommandFailure, EXIT, EXIT_CODES } from "./failure.ts";
import { managing } from "./managing.ts";
import { asJson, type Cell, printable, record, table, when } from "./table.ts";
import { running, type Terminal } from "./terminal.ts";
import { asId, userId } from "./users-and-realms.ts";

type Tree = ManagementOutputs["operator"]["delegations"]["tree"];
type Delegation = Tree["delegations"][number];
type Cut = ManagementInputs["operator"]["delegations"]["cut"];

interface Filter {
  readonly user?: string;
  readonly agent?: string;
  readonly grant?: string;
  readonly live?: true;
  readonly ended?: true;
  readonly json?: true;
}

interface CutOptions {
  readonly agent?: string;
  readonly grant?: string;
  readonly user?: string;
  readonly json?: true;
}

/** Delegations of one call. */
const PAGE = 200;

/** `countersign delegations …`, for operators. */
export function registerDelegationCommands(program: Command, terminal: Terminal): void {
  const delegations = program
    .command("delegations")
    .description("who acts for whom, through which agents, for operators; kept for a day after they expire")
    .addHelpText("after", EXIT_CODES);
  const command = (name: string, description: string) => delegations.command(name).description(description).option("--json", "as JSON");

  command("list", "list delegations, newest first; those of one second in no order")
    .option("--user <person>", "only for this person, by id or e-mail address")
    .option("--agent <client_id>", "only those that this agent holds")
    .option("--grant <id>", "only those that came of this grant")
    .option("--live", "only those that count")
    .option("--ended", "only those that have ended")
    .action(
      running(terminal, async (filter: Filter) => {
        const admin = await managing(terminal);
        const listed = await everyDelegation(admin, filter);
        if (listed.length === 0 && filter.agent !== undefined && !(await isAgent(admin, filter.agent)))
          terminal.complain(`${printable(filter.agent)}: no agent has this client_id`);
        terminal.write(filter.json ? asJson(listed) : listing(listed));
      }),
    );
  command("show <grant>", "show the tree of a grant")
    .option("--live", "only what counts")
    .action(
      running(terminal, async (grantId: string, { live, json }: Filter) => {
        const tree = await (await managing(terminal)).operator.delegations.tree.query({ grantId, ...(live && { live }) });
        terminal.write(json ? asJson(tree) : shown(tree));
      }),
    );
  command("cut [id]", "end a delegation, all that an agent holds, or a grant, with all below it, at once and for good")
    .option("--agent <client_id>", "all that this agent holds, of everybody or of one person")
    .option("--user <person>", "with --agent: of this person alone, by id or e-mail address")
    .option("--grant <id>", "this grant, with the application's own tokens")
    .action(
      running(terminal, async (id: string | undefined, options: CutOptions) => {
        const admin = await managing(terminal);
        const done = await admin.operator.delegations.cut.mutate(await cutOf(admin, id, options));
        terminal.write(options.json ? asJson(done) : `ended: ${done.ended}`);
      }),
    );
}

/** Whether there may be such an agent; no hint is better than a wrong one where the search finds more than a page. */
async function isAgent(admin: AdminClient, clientId: string): Promise<boolean> {
  const { clients, nextCursor } = await admin.operator.clients.list.query({ isAgent: true, search: clientId.slice(0, 200), limit: 200 });
  return nextCursor !== null || clients.some((client) => client.clientId === clientId);
}

async function everyDelegation(admin: AdminClient, { user, agent, grant, live, ended }: Filter): Promise<readonly Delegation[]> {
  if (live && ended) throw new CommandFailure(EXIT.failed, "Give --live or --ended, not both.");
  const filter = {
    limit: PAGE,
    ...(user !== undefined && { userId: asId("--user", await userId(admin, user)) }),
    ...(agent !== undefined && { agent }),
    ...(grant !== undefined && { grantId: asId("--grant", grant) }),
    ...((live || ended) && { live: live === true }),
  };
  const all: Delegation[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await admin.operator.delegations.list.query({ ...filter, ...(cursor !== undefined && { cursor }) });
    all.push(...page.delegations);
    if (page.nextCursor === null) return all;
    cursor = page.nextCursor;
  }
}

/** @throws {CommandFailure} for nothing to cut, or several things at once */
async function cutOf(admin: AdminClient, id: string | undefined, { agent, grant, user }: CutOptions): Promise<Cut> {
  const named = [id, agent, grant].filter((each) => each !== undefined).length;
  if (named !== 1) throw new CommandFailure(EXIT.failed, "Say what to cut: the id of a delegation, --agent or --grant; one of them.");
  if (user !== undefined && agent === undefined) throw new CommandFailure(EXIT.failed, "--user goes with --agent.");
  if (agent !== undefined) return { kind: "agent", clientId: agent, ...(user !== undefined && { userId: await userId(admin, user) }) };
  return grant !== undefined ? { kind: "grant", id: grant } : { kind: "delegation", id: id ?? "" };
}

/** Why and when something ended, and who cut it. */
function endWords(ended: Delegation["ended"]): Cell {
  if (ended === null) return null;
  const at = when(ended.at);
  return [ended.reason, ...(at === null ? [] : [`at ${at}`]), ...(ended.by === null ? [] : [`by ${ended.by.type} ${ended.by.id}`])].join(
    " ",
  );
}

const listing = (delegations: readonly Delegation[]): string =>
  table(
    ["ID", "GRANT", "PERSON", "APPLICATION", "AGENTS", "SCOPES", "AUDIENCE", "UNTIL", "ENDED"],
    delegations.map(({ id, grantId, email, application, chain, scopes, audience, expiresAt, ended }): readonly Cell[] => [
      id,
      grantId,
      email,
      application.clientId,
      chain.join(" > "),
      scopes,
      audience,
      when(expiresAt),
      endWords(ended),
    ]),
  );

function shown({ root, delegations, complete }: Tree): string {
  const head = record({
    grant: root.id,
    person: `${root.email} (${root.userId})`,
    application: root.application.clientId,
    scopes: root.scopes,
    audience: root.audience,
    issued: when(root.issuedAt),
    signedOut: when(root.signedOutAt),
    ended: endWords(root.ended),
  });
  const rows = delegations.map(({ id, kind, agent, chain, scopes, audience, issuedAt, expiresAt, ended }): readonly Cell[] => [
    `${"  ".repeat(chain.length - 1)}${agent.clientId}`,
    id,
    kind === "id_jag" ? "assertion" : "token",
    scopes,
    audience,
    when(issuedAt),
    when(expiresAt),
    endWords(ended),
  ]);
  const tree =
    rows.length === 0 ? "no agent acts on it" : table(["AGENT", "ID", "KIND", "SCOPES", "AUDIENCE", "ISSUED", "UNTIL", "ENDED"], rows);
  return [head, "", tree, ...(complete ? [] : ["… and more than can be shown: narrow it with --live"])].join("\n");
}
