import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { SETTING_NAMES } from "../../src/config/settings.ts";

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const compose = read("docker-compose.yml");
const dockerfile = read("Dockerfile");
const known = new Set<string>(SETTING_NAMES);

describe("docker-compose.yml", () => {
  test("sets nothing that is no setting of ours or of the database's image", () => {
    const names = [...compose.matchAll(/^ +([A-Z][A-Z0-9_]+):/gm)].map((match) => match[1] ?? "");
    expect(names.length).toBeGreaterThan(10);
    expect(names.filter((name) => !known.has(name) && !name.startsWith("POSTGRES_") && name !== "CMD")).toEqual([]);
  });

  test("holds no secret: each one is a mounted file", () => {
    const secret = /^ +(\w*(?:SECRET|PASSWORD|PRIVATE_KEY|DATABASE_URL)\w*): (.+)$/gm;
    const values = [...compose.matchAll(secret)].map((match) => match[2] ?? "");
    expect(values.length).toBeGreaterThan(4);
    expect(values.filter((value) => !/^("@)?\/run\/secrets\/\w+"?$/.test(value))).toEqual([]);
    expect(compose).not.toMatch(/:\/\/[^/\s]+:[^/\s]+@/);
  });

  test("publishes on the loopback address only, and lets only cores have the signing key", () => {
    expect(compose.match(/ports: .*/g)).toEqual(['ports: ["127.0.0.1:3000:3000", "127.0.0.1:3001:3001"]']);
    expect(compose.match(/^ +secrets: \[.*jwt_private_key.*\]$/gm)).toHaveLength(1);
  });
});

describe("Dockerfile", () => {
  test("ends without root, with a health check, and copies nothing that the ignore file holds back", () => {
    expect(dockerfile).toMatch(/^USER node$/m);
    expect(dockerfile).toMatch(/^HEALTHCHECK /m);
    const allowed = read(".dockerignore").match(/(?<=^!).+/gm) ?? [];
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap((match) => (match[1] ?? "").split(" "));
    expect(copied.filter((path) => !allowed.some((root) => path === root || path.startsWith(`${root}/`)))).toEqual([]);
  });

  test("starts the source with the options of `npm start` and of the command line", () => {
    const options = (text: string) => text.match(/--(?:conditions|disable-sigusr1|report-exclude-env)[\w=-]*/g);
    const start = options(JSON.parse(read("package.json")).scripts.start);
    expect(start).toEqual(["--disable-sigusr1", "--report-exclude-env", "--conditions=countersign"]);
    expect(options(dockerfile)).toEqual(start);
    expect(options(read("bin/countersign"))).toEqual(start);
  });
});

test("installing runs no script of any package", () => {
  expect(read(".npmrc")).toMatch(/^ignore-scripts=true$/m);
});
