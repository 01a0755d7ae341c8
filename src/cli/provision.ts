import type { ManagementInputs } from "@countersign/admin";
import { managing } from "./management-api.ts";
import { asJson, table } from "./table.ts";
import type { Terminal } from "./terminal.ts";

/** `countersign provision FILE` on a running server, as an operator. @throws {CommandFailure} */
export async function provisionThroughServer(
  file: ManagementInputs["operator"]["provision"],
  terminal: Terminal,
  json = false,
): Promise<void> {
  const done = await (await managing(terminal)).operator.provision.mutate(file);
  const rows = Object.entries(done).map(([what, { created, changed, unchanged }]) => [what, created, changed, unchanged]);
  terminal.write(json ? asJson(done) : table(["", "CREATED", "CHANGED", "UNCHANGED"], rows));
}
