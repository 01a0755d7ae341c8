import type { AdminClient, ManagementInputs, ManagementOutputs } from "@countersign/admin";
import type { Command } from "commander";
import { CommandFailure, EXIT, EXIT_CODES } from "./failure.ts";
import { everyPage, managing } from "./management-api.ts";
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
    .description("which agents act for which users, for operators; kept for a day after they expire")
    .addHelpText("after", EXIT_CODES);
  const command = (name: string, description: string) => delegations.command(name).description(description).option("--json", "as JSON");

  command("list", "list delegations, newest first")
    .option("--user <user>", "only for this user, by id or e-mail address")
    .option("--agent <client_id>", "only those of this agent")
    .option("--grant <id>", "only those derived from this grant")
    .option("--live", "only valid ones")
    .option("--ended", "only ended ones")
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
    .option("--live", "only valid delegations")
    .action(
      running(terminal, async (grantId: string, { live, json }: Filter) => {
        const tree = await (await managing(terminal)).operator.delegations.tree.query({ grantId, ...(live && { live }) });
        terminal.write(json ? asJson(tree) : shown(tree));
      }),
    );
  command("cut [id]", "end a delegation, all of an agent, or a grant, with everything below it, at once and permanently")
    .option("--agent <client_id>", "all delegations of this agent, for all users or for one")
    .option("--user <user>", "with --agent: for this user only, by id or e-mail address")
    .option("--grant <id>", "this grant, with the application's own tokens")
    .action(
      running(terminal, async (id: string | undefined, options: CutOptions) => {
        const admin = await managing(terminal);
        const done = await admin.operator.delegations.cut.mutate(await cutOf(admin, id, options));
        terminal.write(options.json ? asJson(done) : `ended: ${done.ended}`);
      }),
    );
}

/** Whether an agent may exist. With more than a page of matches the answer is yes, rather than a wrong no. */
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
  return everyPage(async (at) => {
    const { delegations, nextCursor } = await admin.operator.delegations.list.query({ ...filter, ...at });
    return { items: delegations, nextCursor };
  });
}

/** @throws {CommandFailure} unless exactly one thing is named */
async function cutOf(admin: AdminClient, id: string | undefined, { agent, grant, user }: CutOptions): Promise<Cut> {
  const named = [id, agent, grant].filter((each) => each !== undefined).length;
  if (named !== 1)
    throw new CommandFailure(EXIT.failed, "Name what to cut: the id of a delegation, --agent or --grant, and only one of them.");
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
    ["ID", "GRANT", "USER", "APPLICATION", "AGENTS", "SCOPES", "AUDIENCE", "UNTIL", "ENDED"],
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
    user: `${root.email} (${root.userId})`,
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
    rows.length === 0 ? "no agent uses it" : table(["AGENT", "ID", "KIND", "SCOPES", "AUDIENCE", "ISSUED", "UNTIL", "ENDED"], rows);
  return [head, "", tree, ...(complete ? [] : ["… and more, which are not shown: try --live"])].join("\n");
}
