import type { AdminClient } from "@countersign/admin";
import type { Command } from "commander";
import { reportText } from "./doctor/finding.ts";
import { listed, type Most, type managementCommands, type Output, withLimit } from "./management-api.ts";
import { realmNamed } from "./scopes.ts";
import { table, when } from "./table.ts";
import type { Terminal } from "./terminal.ts";

type Options = Most & { readonly realm?: string };

/** `countersign resources refusals` and `examine`. @param inRealm adds the option `--realm` */
export function registerResourceReports(
  command: ReturnType<typeof managementCommands>,
  inRealm: (command: Command) => Command,
  terminal: Terminal,
): void {
  withLimit(inRealm(command("refusals <url>", "list the refused token requests that named a resource, newest first", refusals)));
  command("examine <url>", "check a resource as `countersign doctor` does, by requests of the server", async (admin, resource: string) => {
    const report = await admin.operator.resources.examine.query({ resource });
    if (report.verdict === "fault") terminal.end(1);
    return { value: report, text: reportText(report, (_, mark) => mark) };
  });
}

async function refusals(admin: AdminClient, resource: string, { realm, limit }: Options): Promise<Output> {
  const named = { ...(await realmNamed(admin, realm)), resource };
  const { items, total } = await listed("records", (at) => admin.operator.resources.refusals.query({ ...named, ...at }), limit);
  const rows = items.map(({ at, clientId, userId, reason, requestId }) => [when(at), clientId, userId, reason, requestId]);
  const whenEmpty = "No request for this resource was refused within 90 days.";
  return { value: items, text: table(["AT", "CLIENT", "USER", "REASON", "REQUEST"], rows), total, whenEmpty };
}
