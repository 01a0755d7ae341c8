import type { Command } from "commander";
import { recordId } from "./clients.ts";
import { EXIT_CODES } from "./failure.ts";
import { managing } from "./management-api.ts";
import { asJson, record, table, when } from "./table.ts";
import { running, type Terminal } from "./terminal.ts";

interface Options {
  readonly json?: true;
}

/** `countersign api-keys …`: the static keys of the user's clients. */
export function registerApiKeyCommands(program: Command, terminal: Terminal): void {
  const apiKeys = program
    .command("api-keys")
    .description("static API keys of your clients in development; a client is named by its id or client_id")
    .addHelpText("after", EXIT_CODES);
  const command = (name: string, description: string) => apiKeys.command(name).description(description).option("--json", "as JSON");

  command("list <client>", "list a client's keys, newest first").action(
    running(terminal, async (client: string, { json }: Options) => {
      const admin = await managing(terminal);
      const { apiKeys: listed } = await admin.apiKeys.list.query({ clientId: await recordId(admin, client) });
      const rows = listed.map(({ id, prefix, last4, createdAt, lastUsedAt, revokedAt, name }) => [
        id,
        `${prefix}…${last4}`,
        when(createdAt),
        when(lastUsedAt),
        when(revokedAt),
        name,
      ]);
      terminal.write(json ? asJson(listed) : table(["ID", "KEY", "CREATED", "USED", "REVOKED", "NAME"], rows));
    }),
  );
  command("create <client> <name>", "create a key, which is shown only once").action(
    running(terminal, async (client: string, name: string, { json }: Options) => {
      const admin = await managing(terminal);
      const { id, key } = await admin.apiKeys.create.mutate({ clientId: await recordId(admin, client), key: { name } });
      terminal.write(json ? asJson({ id, name, key }) : record({ id, name, key }));
    }),
  );
  command("revoke <client> <key>", "revoke a key, named by its id, at once and permanently").action(
    running(terminal, async (client: string, keyId: string, { json }: Options) => {
      const admin = await managing(terminal);
      const revoked = await admin.apiKeys.revoke.mutate({ clientId: await recordId(admin, client), keyId });
      terminal.write(json ? asJson(revoked) : `revoked ${revoked.id}`);
    }),
  );
}
