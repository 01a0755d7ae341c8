import { expect, test } from "vitest";
import { addCommand, type Output } from "../../../src/cli/management-api.ts";
import { table } from "../../../src/cli/table.ts";
import { aTerminal } from "../../support/terminal.ts";

test("a table of hundreds of thousands of lines has the widths of its longest cells", () => {
  const items = Array.from({ length: 210_000 }, (_, at) => ({ id: `${at}`, name: "one" }));
  const lines = table(items, { ID: "id", NAME: "name" }).split("\n");
  expect([lines.length, lines[0], lines[1], lines.at(-1)]).toEqual([210_001, "ID      NAME", "0       one", "209999  one"]);
});

test("a text that is made when it is shown is not made for --json", async ({ onTestFinished }) => {
  const at = aTerminal({ serverUrl: "https://id.example.test", email: "", password: "" });
  onTestFinished(at.leave);
  let made = 0;
  const text = () => `made ${++made}`;
  const register = (program: Parameters<typeof addCommand>[0], terminal: Parameters<typeof addCommand>[1]) =>
    void addCommand(program, terminal, "list", "a list", async (): Promise<Output> => ({ value: [1], text }));
  expect([(await at.run([register], ["list", "--json"])).out, made]).toEqual(["[\n  1\n]\n", 0]);
  expect((await at.run([register], ["list"])).out).toBe("made 1\n");
});
