import { execFileSync } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { rulesOf } from "../../src/core/explain.ts";
import { GRANTS, type GrantCase } from "../../src/protocol/grants.ts";

const root = join(import.meta.dirname, "../..");
const read = (path: string): string => readFileSync(join(root, path), "utf8");

/** The anchor that GitHub makes of a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(/\s/g, "-");

/** The anchors of a document, each with the section below its heading. */
function sectionsOf(document: string): ReadonlyMap<string, string> {
  const parts = document.replaceAll(/^```[\s\S]*?^```$/gm, "").split(/^#{1,6} /m);
  return new Map(parts.slice(1).map((part) => [anchorOf(part.split("\n", 1)[0] ?? ""), part]));
}

interface Citation {
  readonly by: string;
  readonly path: string;
  readonly anchor: string | undefined;
}

const CITED = /\bdocs\/([\w./-]+\.md)(?:#([\w-]+))?/g;
const cited = (by: string): readonly Citation[] =>
  [...read(by).matchAll(CITED)].map(([, path = "", anchor]) => ({ by, path: `docs/${path}`, anchor }));

/** Links of a document to other documents or within itself. */
const LINK = /\]\((?!https?:)([^)#\s]*)(?:#([\w-]+))?\)/g;
const linked = (by: string): readonly Citation[] =>
  [...read(by).matchAll(LINK)].map(([, path = "", anchor]) => ({ by, path: path === "" ? by : join(by, "..", path), anchor }));

const tracked = (...paths: string[]): readonly string[] =>
  execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "--", ...paths], { cwd: root, encoding: "utf8" })
    .split("\n")
    .filter((path) => path !== "" && existsSync(join(root, path)));
const code = tracked("src", "test", "agent-sdk", "guard-sdk", "admin", "proto", "scripts", "examples", "bench").filter((path) =>
  /\.(?:[cm]?[jt]s|proto|md)$/.test(path),
);
const documents = tracked("docs", "*.md").filter((path) => path.endsWith(".md"));

const isBroken = ({ path, anchor }: Citation): boolean =>
  !existsSync(join(root, path)) || (anchor !== undefined && path.endsWith(".md") && !sectionsOf(read(path)).has(anchor));

describe("documents", () => {
  test("every document and anchor that code cites exists", () => {
    expect(code.flatMap(cited).filter(isBroken)).toEqual([]);
  });

  test("every link between documents has an existing target", () => {
    expect(documents.flatMap(linked).filter(isBroken)).toEqual([]);
  });

  test("every repository file that a document names exists", () => {
    const NAMED = /`((?:src|test|proto|bench|examples|scripts|bin|agent-sdk|guard-sdk|admin|console)\/[^`\s#]*)`/g;
    const named = documents.flatMap((by) => [...read(by).matchAll(NAMED)].map(([, path = ""]) => ({ by, path })));
    expect(named.length).toBeGreaterThan(50);
    expect(named.filter(({ path }) => globSync(path.replaceAll(/<[^>]+>/g, "*"), { cwd: root }).length === 0)).toEqual([]);
  });

  test("docs/architecture.md says what each package that the server needs does", () => {
    const names = Object.keys(JSON.parse(read("package.json")).dependencies);
    const table = sectionsOf(read("docs/architecture.md")).get("where-each-package-does-its-work") ?? "";
    const rows = [...table.matchAll(/^\| ([^|]+) \|/gm)].flatMap(([, cell = ""]) => cell.split(/[,;] /));
    expect(names.filter((name) => !rows.includes(name) && !rows.includes(name.replace(/\/.*/, "/*")))).toEqual([]);
  });

  test("docs/README.md lists every document", () => {
    const listed = new Set(linked("docs/README.md").map(({ path }) => path));
    const expected = documents.filter(
      (path) => path.startsWith("docs/") && path !== "docs/README.md" && !path.startsWith("docs/decisions/0"),
    );
    expect(expected.filter((path) => !listed.has(path))).toEqual([]);
  });

  test("docs/decisions/README.md lists every decision, and their numbers have no gaps", () => {
    const decisions = tracked("docs/decisions").filter((path) => /\/\d{4}-/.test(path));
    const listed = new Set(linked("docs/decisions/README.md").map(({ path }) => path));
    expect(decisions.filter((path) => !listed.has(path))).toEqual([]);
    expect(decisions.map((path) => Number(path.slice("docs/decisions/".length).slice(0, 4)))).toEqual(
      decisions.map((_, index) => index + 1),
    );
  });
});

const RULES_OF: Readonly<Record<GrantCase, string>> = {
  authorizationCode: "authorization-code-rules",
  refreshToken: "refresh-token-rules",
  clientCredentials: "client-credentials-rules",
  tokenExchange: "token-exchange-rules",
  jwtBearer: "identity-assertion-rules",
  deviceCode: "device-authorization-rules",
};

test("docs/protocol.md lists every rule of the workload grant", () => {
  const listed = sectionsOf(read("docs/protocol.md")).get("workload-grant-rules");
  expect(rulesOf("jwtBearer", true).filter(({ name }) => !listed?.includes(`| \`${name}\` |`))).toEqual([]);
});

test.for(Object.keys(GRANTS) as GrantCase[])("docs/protocol.md lists every rule of %s", (grant) => {
  const sections = sectionsOf(read("docs/protocol.md"));
  const listed = ["client-authentication-rules", "grant-rules", RULES_OF[grant]].map((anchor) => sections.get(anchor)).join("\n");
  const missing = rulesOf(grant).filter(({ name }) => !listed.includes(`| \`${name}\` |`));
  expect(missing.map(({ name }) => name)).toEqual([]);
});
