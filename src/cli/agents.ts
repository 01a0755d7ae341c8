import type { AdminClient, ManagementOutputs } from "@countersign/admin";
import type { Command } from "commander";
import { EXIT_CODES } from "./failure.ts";
import { managing } from "./managing.ts";
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
    .description("agents that act for people, for operators; named by client_id")
    .addHelpText("after", EXIT_CODES);
  const command = (name: string, description: string) => agents.command(name).description(description).option("--json", "as JSON");
  const told = (answer: { readonly changed: boolean }, { json }: Options, done: string, idle: string): void =>
    terminal.write(json ? asJson(answer) : answer.changed ? done : idle);

  command("pause <client_id>", "let an agent act for nobody, at once, until it is resumed").action(
    running(terminal, async (clientId: string, options: Options) =>
      told(await (await managing(terminal)).operator.agents.pause.mutate({ clientId }), options, "paused", "was paused already"),
    ),
  );
  command("resume <client_id>", "end the operators' pause; what the agent held counts again, unless it was cut or has expired").action(
    running(terminal, async (clientId: string, options: Options) => {
      const admin = await managing(terminal);
      told(await admin.operator.agents.resume.mutate({ clientId }), options, "resumed", "was not paused by operators");
      const stillPaused = await pausedByUsers(admin, clientId);
      if (stillPaused !== undefined) terminal.complain(stillPaused);
    }),
  );
  command("pauses", "list who may not act for whom, newest first").action(
    running(terminal, async ({ json }: Options) => {
      const listed = await everyPause(await managing(terminal));
      terminal.write(json ? asJson(listed) : listing(listed));
    }),
  );
}

/** What resuming leaves: a pause that people took is theirs to end. */
async function pausedByUsers(admin: AdminClient, clientId: string): Promise<string | undefined> {
  const people = (await everyPause(admin, clientId)).flatMap(({ userId }) => (userId === null ? [] : [userId]));
  const [id] = people;
  if (id === undefined) return undefined;
  return people.length === 1
    ? `still paused for ${printable((await admin.operator.users.get.query({ id })).email)}, who alone can let it go on, at /account/agents`
    : `still paused for ${people.length} people, each of whom alone can let it go on, at /account/agents: see \`agents pauses\``;
}

async function everyPause(admin: AdminClient, agent?: string): Promise<readonly Pause[]> {
  const all: Pause[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await admin.operator.agents.pauses.query({
      limit: 200,
      ...(agent !== undefined && { agent }),
      ...(cursor !== undefined && { cursor }),
    });
    all.push(...page.pauses);
    if (page.nextCursor === null) return all;
    cursor = page.nextCursor;
  }
}

const listing = (pauses: readonly Pause[]): string =>
  table(
    ["AGENT", "FOR", "SINCE", "BY", "NAME"],
    pauses.map(({ agent, userId, pausedAt, by }): readonly Cell[] => [
      agent.clientId,
      userId ?? "everybody",
      when(pausedAt),
      `${by.type} ${by.id}`,
      agent.name,
    ]),
  );
