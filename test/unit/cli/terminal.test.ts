import { expect, test } from "vitest";
import { systemTerminal } from "../../../src/cli/terminal.ts";

test("without a terminal, the error names the server and the ways to sign in", async () => {
  const server = { serverUrl: "https://auth.example/", email: undefined, password: undefined };
  const answer = systemTerminal(() => server, undefined).ask("Password: ", true);
  await expect(answer).rejects.toThrow(/https:\/\/auth\.example\/ .*COUNTERSIGN_EMAIL and COUNTERSIGN_PASSWORD.*countersign login/);
});
