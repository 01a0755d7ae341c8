import type { Command } from "commander";
import { recordId } from "./clients.ts";
import { addCommand, managementCommands, managing, onceOnly, Yes } from "./management-api.ts";
import { printable, record, table, whenOf } from "./table.ts";
import type { Terminal } from "./terminal.ts";

/** `countersign keys list` and `withdraw`, for operators. @param keys the command `keys` */
export function registerKeyCommands(keys: Command, terminal: Terminal): void {
  addCommand(keys, terminal, "list", "the public keys of all cores, newest first", async () => {
    const { signingKeys } = await (await managing(terminal)).operator.signingKeys.list.query();
    const times = { PUBLISHED: whenOf("publishedAt"), "IN USE": whenOf("inUseAt") };
    const text = table(signingKeys, { KID: "kid", ALG: ({ jwk }) => String(jwk.alg ?? ""), STATE: "state", ...times });
    const whenEmpty = "No core has published a key yet. See that a core runs: `countersign doctor`.";
    return { value: signingKeys, text, whenEmpty };
  });
  const description = "withdraw a key that somebody else may have: what it signed is refused";
  addCommand(keys, terminal, "withdraw <kid>", description, async (kid: string) => {
    const withdrawn = await (await managing(terminal)).operator.signingKeys.withdraw.mutate({ kid });
    const text = `Withdrew ${printable(kid)}. Cores stop accepting it within 30 seconds; resource servers when they next fetch the keys.`;
    return { value: withdrawn, text };
  }).addOption(new Yes("Everything that the key has signed is refused, and the key can never be used again."));
}

const KEY_LOST =
  "The key may have been created, and it is not shown again. See `countersign api-keys list`, revoke it, and create another one.";

export function registerApiKeyCommands(program: Command, terminal: Terminal): void {
  const description = "static API keys of your clients in development; a client is named by its id or client_id";
  const command = managementCommands(program, terminal, "api-keys", description);

  command("list <client>", "list a client's keys, newest first", async (admin, client: string) => {
    const { apiKeys } = await admin.apiKeys.list.query({ clientId: await recordId(admin, client) });
    const times = { CREATED: whenOf("createdAt"), USED: whenOf("lastUsedAt"), REVOKED: whenOf("revokedAt") };
    const text = table(apiKeys, { ID: "id", KEY: ({ prefix, last4 }) => `${prefix}…${last4}`, ...times, NAME: "name" });
    const whenEmpty = "This client has no keys. Create one with `countersign api-keys create`.";
    return { value: apiKeys, text, whenEmpty };
  });
  command("create <client> <name>", "create a key, which is shown only once", async (admin, client: string, name: string) => {
    const creating = admin.apiKeys.create.mutate({ clientId: await recordId(admin, client), key: { name } });
    const { id, key } = await onceOnly(creating, KEY_LOST);
    const value = { id, name, key };
    return { value, text: record(value), shownOnce: "key" };
  });
  command(
    "revoke <client> <key>",
    "revoke a key, named by its id, at once and permanently",
    async (admin, client: string, keyId: string) => {
      const revoked = await admin.apiKeys.revoke.mutate({ clientId: await recordId(admin, client), keyId });
      return { value: revoked, text: `revoked ${revoked.id}` };
    },
  ).addOption(new Yes("The key stops working at once."));
}
