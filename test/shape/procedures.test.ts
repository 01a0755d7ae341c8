import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { managementRouter } from "../../src/management/router.ts";

const root = join(import.meta.dirname, "../..");

/** Procedures that no command calls: the test that reaches each, and what it does there. */
const ELSEWHERE: Readonly<Record<string, readonly [file: string, act: string]>> = {
  "viewer.get": ["test/rfc/management-roles.test.ts", "viewer.get.query()"],
  "viewer.client": ["test/rfc/management-roles.test.ts", "viewer.client.query("],
  "viewer.user": ["test/rfc/management-roles.test.ts", "viewer.user.query("],
  "figures.get": ["test/rfc/management-roles.test.ts", '"figures.get"'],
  "clients.consents": ["test/rfc/management-clients.test.ts", "clients.consents.query("],
  "clients.judgeRedirectUris": ["test/browser/console-stories.test.ts", "Add the redirect URI"],
  "live.audit": ["test/rfc/spec-s2.12-audit.test.ts", "/trpc/live.audit"],
  "operator.users.sendReset": ["test/rfc/operator-users.test.ts", "sendReset.mutate("],
  "operator.clients.deleteMany": ["test/rfc/management-clients.test.ts", "clients.deleteMany.mutate("],
  "operator.clients.document": ["test/rfc/cimd-authorize.test.ts", "clients.document.query("],
  "operator.consents.list": ["test/rfc/operator-users.test.ts", "consents.list.query("],
  "operator.consents.ofClient": ["test/rfc/management-clients.test.ts", "consents.ofClient.query("],
  "operator.consents.revoke": ["test/rfc/management-clients.test.ts", "consents.revoke.mutate("],
  "operator.realms.previewBranding": ["test/rfc/operator-users.test.ts", "previewBranding.mutate("],
  "operator.resources.refusals": ["test/rfc/management-resources.test.ts", "resources.refusals.query("],
  "operator.resources.examine": ["test/rfc/management-resources.test.ts", "resources.examine.query("],
  "operator.audit.export": ["test/rfc/spec-s2.12-audit.test.ts", "audit.export.query("],
  "operator.figures.get": ["test/browser/console.test.ts", 'open("/")'],
  "operator.delegations.groups": ["test/browser/console-operator.test.ts", 'name: "Pause"'],
  "operator.deployment.settings": ["test/browser/console.test.ts", "Send me a test mail"],
  "operator.deployment.testMail": ["test/browser/console.test.ts", "Send me a test mail"],
};

const commands = readdirSync(join(root, "src/cli"), { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".ts"))
  .map((path) => readFileSync(join(root, "src/cli", path), "utf8").replaceAll(/\s+/g, ""))
  .join("\n");
/** test/rfc/contract-every-command.test.ts runs every command. */
const isCalled = (path: string): boolean => {
  const name = path.split(".").slice(-2).join(".");
  return commands.includes(`${name}.query(`) || commands.includes(`${name}.mutate(`);
};

test("every procedure is called by a command, or by the test that is named here", () => {
  const paths = Object.keys(managementRouter._def.procedures);
  const others = paths.filter((path) => !isCalled(path));
  expect(others.sort()).toEqual(Object.keys(ELSEWHERE).sort());
  const missing = Object.entries(ELSEWHERE).filter(([, [file, act]]) => !readFileSync(join(root, file), "utf8").includes(act));
  expect(missing).toEqual([]);
});

test("the README of the admin client names every procedure that the client has", () => {
  const readme = readFileSync(join(root, "admin/README.md"), "utf8");
  const rows = readme.split("\n").flatMap((line) => /^\| (`.+?) \|/.exec(line)?.[1] ?? []);
  const isNamed = (path: string): boolean => {
    const [, group = "", name = ""] = /^(.+)\.(\w+)$/.exec(path) ?? [];
    const whole = [`\`${path}\``, `\`${group}.*\``];
    const sibling = [`\`${name}\``, `\`.${name}\``];
    const contains = (row: string, texts: readonly string[]) => texts.some((text) => row.includes(text));
    return rows.some((row) => contains(row, whole) || (row.includes(`\`${group}.`) && contains(row, sibling)));
  };
  const paths = Object.keys(managementRouter._def.procedures).filter((path) => !path.startsWith("live."));
  expect(paths.filter((path) => !isNamed(path))).toEqual([]);
});
