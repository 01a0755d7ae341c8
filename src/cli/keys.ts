import type { Command } from "commander";
import { addCommand, managing } from "./management-api.ts";
import { table, when } from "./table.ts";
import type { Terminal } from "./terminal.ts";

/** `countersign keys list`, for operators. @param keys the command `keys` */
export function registerKeyCommands(keys: Command, terminal: Terminal): void {
  addCommand(keys, terminal, "list", "the public keys of all cores, newest first", async () => {
    const { signingKeys } = await (await managing(terminal)).operator.signingKeys.list.query();
    const rows = signingKeys.map(({ kid, jwk, state, publishedAt, inUseAt }) => [
      kid,
      String(jwk.alg ?? ""),
      state,
      when(publishedAt),
      when(inUseAt),
    ]);
    return { value: signingKeys, text: table(["KID", "ALG", "STATE", "PUBLISHED", "IN USE"], rows) };
  });
}
