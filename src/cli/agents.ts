import type { AdminClient, ManagementOutputs } from "@countersign/admin";
import type { Command } from "commander";
import { everyPage, managementCommands, type Output } from "./management-api.ts";
import { type Cell, printable, table, when } from "./table.ts";
import type { Terminal } from "./terminal.ts";

type Pause = ManagementOutputs["operator"]["agents"]["pauses"]["pauses"][number];

/** `countersign agents …`, for operators. */
export function registerAgentCommands(program: Command, terminal: Terminal): void {
  const command = managementCommands(program, terminal, "agents", "agents that act for users, for operators; named by client_id");
  const report = (value: { readonly changed: boolean }, done: string, idle: string): Output => ({
    value,
    text: value.changed ? done : idle,
  });

  command("pause <client_id>", "stop an agent for all users, at once, until it is resumed", async ({ operator }, clientId: string) =>
    report(await operator.agents.pause.mutate({ clientId }), "paused", "was already paused"),
  );
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
    return { value: pauses, text: listing(pauses) };
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
  everyPage(
    (at) => operator.agents.pauses.query({ ...(agent !== undefined && { agent }), ...at }),
    ({ pauses }) => pauses,
  );

const listing = (pauses: readonly Pause[]): string =>
  table(
    ["AGENT", "FOR", "SINCE", "BY", "NAME"],
    pauses.map(({ agent, userId, pausedAt, by }): readonly Cell[] => [
      agent.clientId,
      userId ?? "all users",
      when(pausedAt),
      `${by.type} ${by.id}`,
      agent.name,
    ]),
  );
