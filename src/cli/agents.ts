import type { AdminClient, ManagementOutputs } from "@countersign/admin";
import type { Command } from "commander";
import { EXIT_CODES } from "./failure.ts";
import { managing } from "./managing.ts";
import { asJson, type Cell, table, when } from "./table.ts";
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
  const changing = (done: string, idle: string, change: (admin: AdminClient, clientId: string) => Promise<{ readonly changed: boolean }>) =>
    running(terminal, async (clientId: string, { json }: Options) => {
      const answer = await change(await managing(terminal), clientId);
      terminal.write(json ? asJson(answer) : answer.changed ? done : idle);
    });

  command("pause <client_id>", "let an agent act for nobody, at once, until it is resumed").action(
    changing("paused", "was paused already", (admin, clientId) => admin.operator.agents.pause.mutate({ clientId })),
  );
  command("resume <client_id>", "let it act again; what it held counts again, unless it was cut or has expired").action(
    changing("resumed", "was not paused", (admin, clientId) => admin.operator.agents.resume.mutate({ clientId })),
  );
  command("pauses", "list who may not act for whom, newest first").action(
    running(terminal, async ({ json }: Options) => {
      const listed = await everyPause(await managing(terminal));
      terminal.write(json ? asJson(listed) : listing(listed));
    }),
  );
}

async function everyPause(admin: AdminClient): Promise<readonly Pause[]> {
  const all: Pause[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await admin.operator.agents.pauses.query({ limit: 200, ...(cursor !== undefined && { cursor }) });
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
