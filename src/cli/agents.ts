import type { AdminClient, ManagementOutputs } from "@countersign/admin";
import type { Command } from "commander";
import { EXIT_CODES } from "./failure.ts";
import { everyPage, managing } from "./management-api.ts";
import { asJson, type Cell, printable, table, when } from "./table.ts";
import { running, type Terminal } from "./terminal.ts";

type Pause = ManagementOutputs["operator"]["agents"]["pauses"]["pauses"][number];

interface Options {
  readonly json?: true;
}

/** `countersign agents …`, for operators. */
export function registerAgentCommands(program: Command, terminal: Terminal): void {
  const agents = program
    .command("agents")
    .description("agents that act for users, for operators; named by client_id")
    .addHelpText("after", EXIT_CODES);
  const command = (name: string, description: string) => agents.command(name).description(description).option("--json", "as JSON");
  const report = (answer: { readonly changed: boolean }, { json }: Options, done: string, idle: string): void =>
    terminal.write(json ? asJson(answer) : answer.changed ? done : idle);

  command("pause <client_id>", "stop an agent for all users, at once, until it is resumed").action(
    running(terminal, async (clientId: string, options: Options) =>
      report(await (await managing(terminal)).operator.agents.pause.mutate({ clientId }), options, "paused", "was already paused"),
    ),
  );
  command("resume <client_id>", "end the operators' pause; delegations are valid again unless they were cut or have expired").action(
    running(terminal, async (clientId: string, options: Options) => {
      const admin = await managing(terminal);
      report(await admin.operator.agents.resume.mutate({ clientId }), options, "resumed", "was not paused by operators");
      const stillPaused = await pausedByUsers(admin, clientId);
      if (stillPaused !== undefined) terminal.complain(stillPaused);
    }),
  );
  command("pauses", "list paused agents, newest first").action(
    running(terminal, async ({ json }: Options) => {
      const listed = await everyPause(await managing(terminal));
      terminal.write(json ? asJson(listed) : listing(listed));
    }),
  );
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

const everyPause = (admin: AdminClient, agent?: string): Promise<readonly Pause[]> =>
  everyPage(async (at) => {
    const { pauses, nextCursor } = await admin.operator.agents.pauses.query({ limit: 200, ...(agent !== undefined && { agent }), ...at });
    return { items: pauses, nextCursor };
  });

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
