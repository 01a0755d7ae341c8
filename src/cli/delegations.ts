import type { AdminClient, ManagementInputs, ManagementOutputs } from "@countersign/admin";
import type { Command } from "commander";
import { CommandFailure, EXIT } from "./failure.ts";
import { everyPage, LIMIT, type Listed, listed, type Most, managementCommands, type Output, Yes } from "./management-api.ts";
import { type Cell, printable, record, table, when, whenOf } from "./table.ts";
import type { Terminal } from "./terminal.ts";
import { asId, userId } from "./user-files-and-factors.ts";

type Tree = ManagementOutputs["operator"]["delegations"]["tree"];
type Delegation = Tree["delegations"][number];
type Cut = ManagementInputs["operator"]["delegations"]["cut"];

const NO_DELEGATIONS = "No agent acts for a user. Delegations appear when an agent exchanges a user's token (docs/delegation.md).";

type CutOptions = { readonly user?: string; readonly agent?: string; readonly grant?: string };

type Filter = CutOptions & { readonly live?: true; readonly ended?: true };

export function registerDelegationCommands(program: Command, terminal: Terminal): void {
  const description = "which agents act for which users, for operators; kept for a day after they expire";
  const command = managementCommands(program, terminal, "delegations", description);

  const list = async (admin: AdminClient, { limit, ...filter }: Filter & Most) => {
    const { items, total } = await delegationsFound(admin, filter, limit);
    const { agent } = filter;
    const isFiltered = Object.keys(filter).length > 0;
    const unknown = items.length === 0 && agent !== undefined && !(await isAgent(admin, agent));
    return {
      value: items,
      text: () => listing(items),
      total,
      ...(!isFiltered && { whenEmpty: NO_DELEGATIONS }),
      warning: () => (unknown ? `${printable(agent)}: no agent has this client_id` : undefined),
    };
  };
  command("list", "list delegations, newest first", list)
    .addOption(LIMIT)
    .option("--user <user>", "only for this user, by id or e-mail address")
    .option("--agent <client_id>", "only those of this agent")
    .option("--grant <id>", "only those derived from this grant")
    .option("--live", "only valid ones")
    .option("--ended", "only ended ones");
  command("show <grant>", "show the tree of a grant", async ({ operator }, grantId: string, { live }: Filter) => {
    const tree = await operator.delegations.tree.query({ grantId, live });
    return { value: tree, text: shown(tree) };
  }).option("--live", "only valid delegations");
  command(
    "cut [id]",
    "end a delegation, all of an agent, or a grant, with everything below it, at once and permanently",
    async (admin, id: string | undefined, options: CutOptions) => {
      const cut = await admin.operator.delegations.cut.mutate(await cutOf(admin, id, options));
      return { value: cut, text: `ended: ${cut.ended}` };
    },
  )
    .addOption(new Yes("The delegation ends with everything below it."))
    .option("--agent <client_id>", "all that this agent holds, for all users or for one; it can get more unless it is paused")
    .option("--user <user>", "with --agent: for this user only, by id or e-mail address")
    .option("--grant <id>", "this grant, with the application's own tokens");
}

/** Whether an agent may exist. With more than a page of matches the answer is yes, rather than a wrong no. */
async function isAgent(admin: AdminClient, clientId: string): Promise<boolean> {
  const { clients, nextCursor } = await admin.operator.clients.list.query({ isAgent: true, search: clientId.slice(0, 200), limit: 200 });
  return nextCursor !== null || clients.some((client) => client.clientId === clientId);
}

async function delegationsFound(
  admin: AdminClient,
  { user, agent, grant, live, ended }: Filter,
  most: number | undefined,
): Promise<Listed<Delegation>> {
  if (live && ended) throw new CommandFailure(EXIT.failed, "Give --live or --ended, not both.");
  const filter = {
    agent,
    userId: user === undefined ? undefined : asId("--user", await userId(admin, user)),
    grantId: grant === undefined ? undefined : asId("--grant", grant),
    live: live || ended ? live === true : undefined,
  };
  return listed("delegations", (at) => admin.operator.delegations.list.query({ ...filter, ...at }), most);
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
  const { reason, at, by } = ended;
  return [reason, at !== null && `at ${when(at)}`, by !== null && `by ${by.type} ${by.id}`].filter((part) => part !== false).join(" ");
}

const GIVEN = { SCOPES: "scopes", AUDIENCE: "audience" } as const;
const ENDING = { UNTIL: whenOf("expiresAt"), ENDED: ({ ended }: Pick<Delegation, "ended">) => endWords(ended) };

/** Agents are named by the client_id in commands; names, which any client can choose, come last, and are known of agents that are listed. */
function listing(delegations: readonly Delegation[]): string {
  const names = new Map(delegations.map(({ agent }) => [agent.clientId, agent.name]));
  return table(delegations, {
    ...({ ID: "id", GRANT: "grantId", USER: "email" } as const),
    APPLICATION: ({ application }) => application.clientId,
    AGENTS: ({ chain }) => chain.join(" > "),
    ...{ ...GIVEN, ...ENDING },
    NAMES: ({ application, chain }) => [named(application), ...chain.map((id) => names.get(id) ?? id)].join(" > "),
  });
}

const named = ({ name, clientId }: Delegation["agent"]): string => name ?? clientId;

function shown({ root, delegations, complete }: Tree): string {
  const head = record({
    grant: root.id,
    user: `${root.email} (${root.userId})`,
    application: `${root.application.clientId} (${named(root.application)})`,
    scopes: root.scopes,
    audience: root.audience,
    issued: when(root.issuedAt),
    signedOut: when(root.signedOutAt),
    ended: endWords(root.ended),
  });
  const tree = table(delegations, {
    AGENT: ({ chain, agent }) => `${"  ".repeat(chain.length - 1)}${agent.clientId}`,
    ID: "id",
    KIND: ({ kind }) => (kind === "id_jag" ? "assertion" : "token"),
    ...{ ...GIVEN, ISSUED: whenOf("issuedAt"), ...ENDING },
    NAME: ({ agent }) => named(agent),
  });
  return [
    head,
    "",
    delegations.length === 0 ? "no agent uses it" : tree,
    ...(complete ? [] : ["… and more, which are not shown: try --live"]),
  ].join("\n");
}

type Pause = ManagementOutputs["operator"]["agents"]["pauses"]["pauses"][number];

export function registerAgentCommands(program: Command, terminal: Terminal): void {
  const purpose = "agents that act for users, for operators; named by client_id. `delegations cut --agent` ends what one holds for good";
  const command = managementCommands(program, terminal, "agents", purpose);
  const report = (value: { readonly changed: boolean }, done: string, idle: string): Output => ({
    value,
    text: value.changed ? done : idle,
  });

  command(
    "pause <client_id>",
    "stop an agent for all users, at once, until it is resumed",
    async ({ operator }, clientId: string, { reason }: { readonly reason?: string }) =>
      report(await operator.agents.pause.mutate({ clientId, reason }), "paused", "was already paused"),
  ).option("--reason <text>", "for the audit record: at most 200 characters");
  command(
    "resume <client_id>",
    "end the operators' pause; delegations are valid again unless they were cut or have expired",
    async (admin, clientId: string) => ({
      ...report(await admin.operator.agents.resume.mutate({ clientId }), "resumed", "was not paused by operators"),
      warning: () => pausedByUsers(admin, clientId),
    }),
  );
  command("pauses", "list paused agents, newest first", async (admin) => {
    const pauses = await everyPause(admin);
    const columns = {
      AGENT: ({ agent }: Pause) => agent.clientId,
      FOR: ({ userId }: Pause) => userId ?? "all users",
      SINCE: whenOf("pausedAt"),
      BY: ({ by }: Pause) => `${by.type} ${by.id}`,
      NAME: ({ agent }: Pause) => agent.name,
    };
    return { value: pauses, text: () => table(pauses, columns), whenEmpty: "No agent is paused." };
  });
}

/** A notice about pauses by users, which only they can end. */
async function pausedByUsers(admin: AdminClient, clientId: string): Promise<string | undefined> {
  const users = (await everyPause(admin, clientId)).flatMap(({ userId }) => (userId === null ? [] : [userId]));
  const [id] = users;
  if (id === undefined) return undefined;
  return users.length === 1
    ? `still paused by ${printable((await admin.operator.users.get.query({ id })).email)}, who alone can resume it, at /account/agents`
    : `still paused by ${users.length} users, each of whom alone can resume it, at /account/agents: see \`agents pauses\``;
}

const everyPause = ({ operator }: AdminClient, agent?: string): Promise<readonly Pause[]> =>
  everyPage("pauses", (at) => operator.agents.pauses.query({ agent, ...at }));
