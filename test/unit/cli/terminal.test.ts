import { expect, test } from "vitest";
import { systemTerminal } from "../../../src/cli/terminal.ts";

test("without a terminal, the error names the question and how to answer it", async () => {
  const server = { serverUrl: "https://auth.example/", email: undefined, password: undefined };
  const answer = systemTerminal(() => server, undefined).ask("Password of the new account: ", {
    hidden: true,
    instead: "Use --password-file.",
  });
  await expect(answer).rejects.toThrow('There is no terminal to ask for "Password of the new account". Use --password-file.');
});
