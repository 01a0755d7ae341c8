import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, test } from "vitest";

/** Shared modules that most rooms may import. */
const WORDS = [
  "errors",
  "clock",
  "random",
  "audit",
  "texts",
  "branding",
  "load-once",
  "concurrency-limit",
  "body-budget",
  "open-sockets",
  "paging",
  "merged",
];

/** Which room of src may import which. A room may always import its own files. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  errors: [],
  clock: [],
  texts: [],
  "load-once": [],
  "concurrency-limit": [],
  "body-budget": [],
  "open-sockets": [],
  paging: [],
  merged: [],
  "database-fault": [],
  "ml-dsa-key": [],
  config: ["ml-dsa-key", "branding"],
  branding: ["clock"],
  gen: [],
  audit: [],
  "audit-chain": [], // verifies a log without the server
  random: ["clock"],
  "development-keys": ["ml-dsa-key"],
  telemetry: ["errors"],
  protocol: ["errors", "gen"],
  clients: [...WORDS, "protocol", "telemetry"],
  accounts: [...WORDS, "secret-box", "protocol", "telemetry"],
  "secret-box": ["errors"],
  upstream: [...WORDS, "secret-box", "protocol", "clients", "accounts", "telemetry"],
  wallet: [...WORDS, "protocol", "clients", "accounts", "telemetry"],
  resources: [...WORDS, "protocol", "clients", "accounts", "telemetry"],
  core: [...WORDS, "ml-dsa-key", "gen", "protocol", "clients", "resources", "telemetry"],
  grpc: [...WORDS, "gen", "protocol", "core", "telemetry"],
  management: [...WORDS, "secret-box", "audit-chain", "protocol", "clients", "accounts", "resources", "upstream", "grpc", "telemetry"],
  front: [...WORDS, "gen", "protocol", "clients", "accounts", "resources", "grpc", "management", "upstream", "wallet", "telemetry"],
  cli: [...WORDS, "database-fault", "audit-chain", "protocol", "clients", "resources", "upstream", "telemetry"],
  store: [
    ...WORDS,
    "secret-box",
    "audit-chain",
    "protocol",
    "clients",
    "accounts",
    "resources",
    "core",
    "management",
    "upstream",
    "wallet",
    "telemetry",
  ], // for the ports that it implements
  outside: [...WORDS, "audit-chain", "clients", "accounts", "core", "telemetry"], // likewise
};
/** These compose the server and may import everything. */
const UNBOUND = ["compose", "main"];

const source = join(import.meta.dirname, "../../src");
const roomOf = (path: string) => (path.split("/")[0] ?? "").replace(/\.ts$/, "");
const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".ts"));

const SPECIFIER = /(?:\bfrom|\bimport)\s*\(?\s*"([^"]+)"/g;
const imports = files.flatMap((file) =>
  [...readFileSync(join(source, file), "utf8").matchAll(SPECIFIER)].map((match) => ({ file, specifier: match[1] ?? "" })),
);
const inner = imports
  .filter(({ specifier }) => specifier.startsWith("."))
  .map(({ file, specifier }) => ({ file, target: normalize(join(dirname(file), specifier)) }));

describe("import directions", () => {
  test("every room has a line in the table", () => {
    const rooms = [...new Set(files.map(roomOf))];
    expect(rooms.filter((room) => !(room in MAY_IMPORT) && !UNBOUND.includes(room))).toEqual([]);
  });

  test("a room imports only the rooms that its line allows", () => {
    const wrong = inner.filter(({ file, target }) => {
      const [from, to] = [roomOf(file), roomOf(target)];
      return from !== to && !UNBOUND.includes(from) && !MAY_IMPORT[from]?.includes(to);
    });
    expect(wrong).toEqual([]);
  });

  test("policies import neither ports nor telemetry", () => {
    const code = (file: string) => readFileSync(join(source, file), "utf8").replaceAll(/^import type .*;$/gm, "");
    const policies = files.filter((file) => file.startsWith("core/policy/"));
    expect(policies.filter((file) => /from "[^"]*(telemetry\/|ports\.ts)/.test(code(file)))).toEqual([]);
  });

  test("nothing in src imports a file outside of src by path", () => {
    expect(inner.filter(({ target }) => target.startsWith(".."))).toEqual([]);
  });

  test("only main.ts reads the environment, only clock.ts and compose.ts read the time, and nothing uses Math.random", () => {
    const allowed: Readonly<Record<string, RegExp>> = {
      "process.env": /^main\.ts$/,
      "Date.now": /^(clock|compose)\.ts$/,
      "new Date()": /^(clock|compose)\.ts$/,
      "Math.random": /^(?!)/,
    };
    const code = (file: string) => readFileSync(join(source, file), "utf8").replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");
    const wrong = files.flatMap((file) =>
      Object.entries(allowed)
        .filter(([word, where]) => !where.test(file) && code(file).includes(word))
        .map(([word]) => `${word} in ${file}`),
    );
    expect(wrong).toEqual([]);
  });
});

/** The files that import each other in circles, types included. */
function circlesOf(folder: string): readonly string[] {
  const root = join(source, "..", folder);
  const paths = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((path) => /\.tsx?$/.test(path));
  const left = new Map(
    paths.map((path) => [
      path,
      [...readFileSync(join(root, path), "utf8").matchAll(SPECIFIER)].map(([, to = ""]) => join(dirname(path), to)),
    ]),
  );
  const importsNothing = (targets: readonly string[]) => !targets.some((target) => left.has(target));
  const isImported = (path: string) => [...left.values()].some((targets) => targets.includes(path));
  for (let size = -1; size !== left.size; ) {
    size = left.size;
    for (const [path, targets] of left) if (importsNothing(targets) || !isImported(path)) left.delete(path);
  }
  return [...left.keys()];
}

test.for(["src", "guard-sdk/src", "agent-sdk/src", "console/src"])("%s has no circle of imports", (folder) => {
  expect(circlesOf(folder)).toEqual([]);
});

test("guard and agent import nothing of the server, and the admin client only its types", () => {
  const root = join(source, "..");
  const reaching = (room: string, pattern: RegExp) =>
    readdirSync(join(root, room, "src"), { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".ts") && pattern.test(readFileSync(join(root, room, "src", path), "utf8")))
      .map((path) => `${room}/src/${path}`);
  expect(reaching("agent-sdk", /from "(?:\.\.\/)+(?:src|guard-sdk)\//)).toEqual([]);
  expect(reaching("guard-sdk", /from "(?:\.\.\/)+src\//)).toEqual([]);
  expect(reaching("admin", /^(?!import type|export type).*from "(?:\.\.\/)+src\//m)).toEqual([]);
});
