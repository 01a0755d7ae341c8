import type { Command } from "commander";
import { managing } from "./management-api.ts";
import { asJson, table, when } from "./table.ts";
import { running, type Terminal } from "./terminal.ts";

/** `countersign keys list`, for operators. @param keys the command `keys` */
export function registerKeyCommands(keys: Command, terminal: Terminal): void {
  keys
    .command("list")
    .description("the public keys of all cores, newest first")
    .option("--json", "as JSON")
    .action(
      running(terminal, async ({ json }: { readonly json?: true }) => {
        const { signingKeys } = await (await managing(terminal)).operator.signingKeys.list.query();
        const rows = signingKeys.map(({ kid, jwk, state, publishedAt, inUseAt }) => [
          kid,
          String(jwk.alg ?? ""),
          state,
          when(publishedAt),
          when(inUseAt),
        ]);
        terminal.write(json ? asJson(signingKeys) : table(["KID", "ALG", "STATE", "PUBLISHED", "IN USE"], rows));
      }),
    );
}
