import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { SETTING_NAMES } from "../../src/config/settings.ts";

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const compose = read("docker-compose.yml");
const dockerfile = read("Dockerfile");
const known = new Set<string>(SETTING_NAMES);

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: unknown;
}

describe("docker-compose.yml", () => {
  test("sets only settings of Countersign and of the database's image", () => {
    const names = [...compose.matchAll(/^ +([A-Z][A-Z0-9_]+):/gm)].map((match) => match[1] ?? "");
    expect(names.length).toBeGreaterThan(10);
    expect(names.filter((name) => !known.has(name) && !name.startsWith("POSTGRES_") && name !== "CMD")).toEqual([]);
  });

  test("contains no secrets: each one is a mounted file", () => {
    const secret = /^ +(\w*(?:SECRET|PASSWORD|PRIVATE_KEY|VAULT_KEY|DATABASE_URL)\w*): (.+)$/gm;
    const values = [...compose.matchAll(secret)].map((match) => match[2] ?? "");
    expect(values.length).toBeGreaterThan(4);
    expect(values.filter((value) => !/^("@)?\/run\/secrets\/\w+"?$/.test(value))).toEqual([]);
    expect(compose).not.toMatch(/:\/\/[^/\s]+:[^/\s]+@/);
  });

  test("lets a process end by a signal before it serves too, and once what is under way has ended, as docs/production.md does", () => {
    expect(parse(compose)["x-service"]).toMatchObject({ init: true, stop_grace_period: "30s" });
    const commands = read("docs/production.md").match(/^ +docker run .+$/gm) ?? [];
    expect(commands.length).toBeGreaterThan(0);
    expect(commands.filter((command) => !command.includes(" --init --stop-timeout 30 "))).toEqual([]);
  });

  test("publishes on the loopback address only, and mounts the signing key into cores only", () => {
    expect(compose.match(/ports: .*/g)).toEqual(['ports: ["127.0.0.1:3000:3000", "127.0.0.1:3001:3001"]']);
    expect(compose.match(/^ +secrets: \[.*jwt_private_key.*\]$/gm)).toHaveLength(1);
  });
});

describe("the Helm chart", () => {
  const chart = (path: string) => read(`deploy/helm/countersign/${path}`);
  const templates = ["_helpers.tpl", "front.yaml", "core.yaml", "both.yaml"].map((path) => chart(`templates/${path}`)).join("\n");

  test("sets only settings of Countersign, from secrets that its values name", () => {
    const keys = [...templates.matchAll(/\blist ((?:"[a-z_]+" ?)+)/g)].flatMap(([, list = ""]) => list.match(/\w+_\w+/g) ?? []);
    const fixed = [...templates.matchAll(/(?:name: |")([A-Z][A-Z_]+)\b/g)].map(([, name = ""]) => name);
    expect(keys.length).toBeGreaterThan(5);
    expect(fixed.length).toBeGreaterThan(5);
    expect([...fixed, ...keys.map((key) => key.toUpperCase())].filter((name) => !known.has(name))).toEqual([]);
    expect(keys.filter((key) => !chart("values.yaml").includes(key))).toEqual([]);
    const optional = Object.keys(parse(chart("values.yaml")).optionalSecrets);
    expect(optional.filter((key) => !keys.includes(key))).toEqual([]);
  });

  test("knows each of its values by its schema, and refuses others", () => {
    const { $schema: _, ...schema } = JSON.parse(chart("values.schema.json"));
    const differing = (one: Schema, value: unknown, path: string): string[] => {
      if (one.properties === undefined || one.additionalProperties !== false) return [];
      const [known, listed] = [Object.keys(one.properties), Object.keys(value as object)];
      return [
        ...[...known, ...listed].filter((key) => !known.includes(key) || !listed.includes(key)).map((key) => `${path}.${key}`),
        ...Object.entries(one.properties).flatMap(([key, part]) =>
          differing(part, (value as Record<string, unknown>)[key], `${path}.${key}`),
        ),
      ];
    };
    expect(schema.additionalProperties).toBe(false);
    expect(differing(schema, parse(chart("values.yaml")), "")).toEqual([".global"]); // which Helm adds to every chart
  });

  test("ends no migration for its length", () => {
    const [job = ""] = templates.split(/^---$/m).filter((each) => each.includes("\nkind: Job\n"));
    expect(job).toMatch(/"args" \(list "migrate"\)/);
    expect(job).not.toContain("activeDeadlineSeconds");
  });

  test("mounts the signing key into cores only, and is of this version", () => {
    expect(templates.match(/"jwt_private_key"/g)).toHaveLength(1);
    expect(templates).toContain('{{- if eq .part "core" }}{{ $keys = append $keys "jwt_private_key" }}{{ end -}}');
    expect(templates.match(/(?<="core" \(list ).+jwt_previous_private_key/g)).toHaveLength(1);
    expect(chart("Chart.yaml")).toContain(`\nappVersion: ${JSON.parse(read("package.json")).version}\n`);
  });
});

test("the database cluster of deploy/ha acknowledges nothing that its standby lacks", () => {
  const { bootstrap } = parse(read("deploy/ha/patroni.yml"));
  const { ttl, loop_wait: wait, retry_timeout: retry, ...dcs } = bootstrap.dcs;
  expect(dcs).toMatchObject({
    synchronous_mode: true,
    postgresql: { parameters: { synchronous_commit: "on", fsync: "on", full_page_writes: "on" } },
  });
  expect(ttl).toBeGreaterThanOrEqual(wait + 2 * retry);
  expect(read("deploy/ha/haproxy.cfg")).toMatch(/GET \/primary[\s\S]*on-marked-down shutdown-sessions/);
});

test("the systemd unit lets passwords be hashed at a lower priority, and ends no process for a system call", () => {
  const unit = read("deploy/countersign.service");
  const filters: string[] = unit.match(/(?<=^SystemCallFilter=).+/gm) ?? [];
  expect(filters.indexOf("setpriority")).toBeGreaterThan(filters.findIndex((filter) => filter.includes("@resources")));
  expect(unit).toMatch(/^SystemCallErrorNumber=EPERM$/m);
});

test("the systemd unit ends no migration for its length", () => {
  expect(read("deploy/countersign.service")).toMatch(/^ExecStartPre=.* migrate$[\s\S]*^TimeoutStartSec=infinity$/m);
});

test("the systemd unit is started again for as long as its database is away", () => {
  const unit = read("deploy/countersign.service");
  const [before = ""] = unit.split("[Service]"); // systemd ignores the line in another section
  expect(before).toMatch(/^StartLimitIntervalSec=0$/m);
  expect(unit).toMatch(/^Restart=always$/m);
});

test("the proxy does not pass on metrics", () => {
  const blocked = /location ~ (\S+) \{\s+return 404;/.exec(read("deploy/proxy.conf"))?.[1] ?? "";
  const paths = ["/metrics", "/tenant/metrics", "/metrics/", "/", "/oauth/token", "/docs/metrics-of-mine"];
  expect(paths.filter((path) => new RegExp(blocked).test(path))).toEqual(["/metrics", "/tenant/metrics", "/metrics/"]);
});

describe("Dockerfile", () => {
  test("runs as a user other than root, has a health check, and copies only files that .dockerignore allows", () => {
    expect(dockerfile).toMatch(/^USER [1-9]\d*:[1-9]\d*$/m);
    expect(dockerfile).toMatch(/^HEALTHCHECK /m);
    const allowed = read(".dockerignore").match(/(?<=^!).+/gm) ?? [];
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap((match) => (match[1] ?? "").split(" "));
    expect(copied.filter((path) => !allowed.some((root) => path === root || path.startsWith(`${root}/`)))).toEqual([]);
  });

  test("starts Node with the options of `npm start`", () => {
    const options = (text: string) => text.match(/--(?:conditions|disable-sigusr1|report-exclude-env)[\w=-]*/g)?.toSorted();
    const expected = ["--conditions=countersign", "--disable-sigusr1", "--report-exclude-env"];
    expect(options(dockerfile)).toEqual(expected);
    expect(options(read("bin/countersign"))).toEqual(expected);
    expect(JSON.parse(read("package.json")).scripts.start).toBe("exec bin/countersign serve");
  });
});

describe("bin/countersign with a Node from PATH", () => {
  const runOn = (version: string) => {
    const root = mkdtempSync(join(tmpdir(), "countersign-bin-"));
    mkdirSync(join(root, "bin"));
    copyFileSync(new URL("../../bin/countersign", import.meta.url), join(root, "bin/countersign"));
    writeFileSync(join(root, "node"), `#!/bin/sh\n[ "$1" = --version ] && echo ${version} || echo started\n`, { mode: 0o755 });
    const { status, stdout, stderr } = spawnSync(join(root, "bin/countersign"), ["serve"], {
      encoding: "utf8",
      env: { PATH: `${root}:/usr/bin:/bin` },
    });
    rmSync(root, { recursive: true });
    return { status, stdout, stderr };
  };

  test("refuses a Node below 24 with one sentence", () => {
    const { status, stdout, stderr } = runOn("v20.19.0");
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr).toMatch(/^Countersign needs Node 24 or newer, but the node on PATH is v20\.19\.0: .+\.\n$/);
  });

  test.for(["v24.0.0", "v26.1.0"])("starts on Node %s", (version) => {
    expect(runOn(version)).toEqual({ status: 0, stdout: "started\n", stderr: "" });
  });
});

test("a release installs all that the whole check looks for, but the browser that it names", () => {
  const needed = [...read(".ci/run").matchAll(/missing\+=\(([\w-]+)\)/g)]
    .map(([, name]) => name)
    .filter((name) => !name?.startsWith("chromium"));
  const [, installed = ""] = /apt-get install .*--no-install-recommends (.+)/.exec(read(".github/workflows/release.yml")) ?? [];
  expect(needed.length).toBeGreaterThan(3);
  expect(installed.split(" ")).toEqual(expect.arrayContaining(needed));
});

test("npm runs no install scripts", () => {
  expect(read(".npmrc")).toMatch(/^ignore-scripts=true$/m);
});
