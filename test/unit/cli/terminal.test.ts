import { expect, test } from "vitest";
import { systemTerminal } from "../../../src/cli/terminal.ts";

test("names the server and the way to sign in where there is no terminal to ask for a password", async () => {
  const server = { serverUrl: "https://auth.example/", email: undefined, password: undefined };
  const asked = systemTerminal(() => server, undefined).ask("Password: ", true);
  await expect(asked).rejects.toThrow(/https:\/\/auth\.example\/ .*COUNTERSIGN_EMAIL and COUNTERSIGN_PASSWORD.*countersign login/);
});
