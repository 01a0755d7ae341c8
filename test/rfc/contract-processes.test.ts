import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { provisionOnly } from "../../src/compose.ts";
import { loadConfig } from "../../src/config.ts";
import { ProvisionError, parseProvisionFile, readProvisionFile } from "../../src/management/provision.ts";
import { openDatabase } from "../../src/store/orm.ts";
import { COMPILED } from "../support/compiled.ts";
import { runText } from "../support/database.ts";
import { freePort } from "../support/free-port.ts";
import { aDataDirectory, aDirectory, endProcesses, NODE_ARGS, type ServiceProcess, startProcess } from "../support/processes.ts";

/** Runs a command until it exits. */
async function countersign(args: readonly string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [...NODE_ARGS, ...args], {
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: COMPILED, ...env },
  });
  let [out, err] = ["", ""];
  child.stdout.on("data", (text: Buffer) => (out += text.toString()));
  child.stderr.on("data", (text: Buffer) => (err += text.toString()));
  const [code] = await once(child, "close");
  return { code: code as number, out, err };
}

const freePorts = async () => ({ PORT: String(await freePort()), GRPC_PORT: String(await freePort()) });
const serve = (env: Record<string, string>): Promise<ServiceProcess> => startProcess({ NODE_ENV: "development", ...env });
const stop = ({ child, ended }: ServiceProcess): Promise<number | null> => {
  child.kill("SIGINT");
  return ended;
};

afterEach(endProcesses);

describe("contract: the process", () => {
  test("SIGINT exits with 0, a restart keeps the keys, and only the owner can read files under DATA_DIR, although its umask is open", async () => {
    const dataDir = join(aDirectory(), "data");
    const first = await serve({ DATA_DIR: dataDir });
    const open = readdirSync(dataDir, { recursive: true, encoding: "utf8" }).filter(
      (path) => (statSync(join(dataDir, path)).mode & 0o077) !== 0,
    );
    expect(open).toEqual([]);
    const keys = await (await fetch(`${first.url}/.well-known/jwks.json`)).json();
    expect(await stop(first)).toBe(0);
    expect(statSync(dataDir).mode & 0o777).toBe(0o700);
    expect(statSync(join(dataDir, "keys/ed25519.pem")).mode & 0o777).toBe(0o600);
    const second = await serve({ DATA_DIR: dataDir });
    expect(await (await fetch(`${second.url}/.well-known/jwks.json`)).json()).toEqual(keys);
  });

  test("R4: a second process on the same DATA_DIR exits with 1 and names the first, which keeps running", async () => {
    const dataDir = await aDataDirectory();
    const first = await serve({ DATA_DIR: dataDir });
    const second = await countersign(["serve"], { DATA_DIR: dataDir, PORT: String(await freePort()), GRPC_PORT: String(await freePort()) });
    expect(second.code).toBe(1);
    expect(second.err).toMatch(/in use by .*process \d+/);
    expect(second.err.trim().split("\n")).toHaveLength(1);
    expect((await fetch(`${first.url}/health`)).status).toBe(200);
  });

  test("a process whose DATA_DIR is moved away ends before it touches what comes in its place", async () => {
    const dataDir = await aDataDirectory();
    const backup = await aDataDirectory();
    const { ended, said } = await serve({ DATA_DIR: dataDir });
    renameSync(dataDir, `${dataDir}.moved`);
    onTestFinished(() => rmSync(`${dataDir}.moved`, { recursive: true }));
    renameSync(backup, dataDir);
    writeFileSync(join(dataDir, "owner.pid"), "another one\n");
    expect([await ended, said()]).toEqual([1, expect.stringContaining('"kind":"DirectoryReplaced"')]);
    expect(readFileSync(join(dataDir, "owner.pid"), "utf8")).toBe("another one\n");
  });

  test("production without keys exits with 1 and one line for each invalid setting", async () => {
    const { code, err } = await countersign(["serve"], {
      NODE_ENV: "production",
      JWT_ISSUER: "http://issuer.example.test",
      DATA_DIR: aDirectory(),
    });
    expect(code).toBe(1);
    expect(err).toMatch(/^JWT_PRIVATE_KEY: /m);
    expect(err).toMatch(/^JWT_ISSUER: /m);
  });

  test("a port that is in use exits with 1 and names its setting, before a database is created", async () => {
    const first = await serve({ DATA_DIR: await aDataDirectory() });
    const taken = new URL(first.url).port;
    for (const setting of ["PORT", "GRPC_PORT"]) {
      const dataDir = join(aDirectory(), "data");
      const { code, err } = await countersign(["serve"], {
        DATA_DIR: dataDir,
        HOST: "127.0.0.1",
        ...(await freePorts()),
        [setting]: taken,
      });
      expect(code).toBe(1);
      expect(existsSync(dataDir)).toBe(false);
      expect(err).toBe(`${setting}: ${taken} is taken on 127.0.0.1; give a free one, or stop what listens there.\n`);
    }
  });

  test("an address that is not of this machine exits with 1 and names its setting, before a database is created", async () => {
    for (const setting of ["HOST", "GRPC_HOST"]) {
      const dataDir = join(aDirectory(), "data");
      const start = async (host: string) =>
        (await countersign(["serve"], { DATA_DIR: dataDir, HOST: "127.0.0.1", ...(await freePorts()), [setting]: host })).err;
      expect(await start("203.0.113.7")).toBe(`${setting}: is no address of this machine; give one that it has, or 0.0.0.0 for all.\n`);
      expect(await start("unknown.invalid")).toBe(`${setting}: is a name without an address; give another name, or an IP address.\n`);
      expect(existsSync(dataDir)).toBe(false);
    }
  });

  test("an unreachable database, an invalid DATA_DIR and a malformed PROVISION_FILE exit with 1 and name the setting", async () => {
    const ports = await freePorts();
    const refused = await countersign(["serve"], { ...ports, DATABASE_URL: "postgres://127.0.0.1:1/countersign" });
    expect([refused.code, refused.err]).toEqual([1, expect.stringMatching(/^DATABASE_URL: the database does not answer; [^\n]+\n$/)]);
    const path = join(aDirectory(), "a-file");
    writeFileSync(path, "");
    const noDirectory = await countersign(["migrate"], { DATA_DIR: path });
    expect([noDirectory.code, noDirectory.err]).toEqual([1, expect.stringMatching(/^DATA_DIR: is a file; [^\n]+\n$/)]);
    const malformed = await countersign(["serve"], { ...ports, DATA_DIR: aDirectory(), PROVISION_FILE: path });
    expect([malformed.code, malformed.err]).toEqual([1, `PROVISION_FILE ${path}: the file is not JSON\n`]);
  });

  test("provision beside a running server exits with 1 and suggests --server; --version prints the version", async () => {
    const dataDir = await aDataDirectory();
    await serve({ DATA_DIR: dataDir });
    const plan = join(aDirectory(), "plan.json");
    writeFileSync(plan, "{}");
    const held = await countersign(["provision", plan], { DATA_DIR: dataDir });
    expect([held.code, held.err]).toEqual([1, expect.stringContaining("--server")]);
    expect((await countersign(["--version"])).out).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  test("an output that cannot be written is named, and so is an option whose value is empty", async () => {
    const file = join(aDirectory(), "a file");
    writeFileSync(file, "");
    expect(await countersign(["branding", "preview", "--out", file])).toEqual({
      code: 1,
      out: "",
      err: expect.stringMatching(/a file\/assets\/\S+ cannot be written \(ENOTDIR\)\. Name another folder with --out\.\n$/),
    });
    for (const words of [
      ["branding", "preview"],
      ["keys", "generate"],
    ]) {
      const { code, out, err } = await countersign([...words, "--out="]);
      expect([code, out, err]).toEqual([
        1,
        "",
        expect.stringMatching(/^error: option '--out <\w+>' argument '' is invalid\. must not be empty/),
      ]);
    }
    expect((await countersign(["provision", ""])).err).toContain("must not be empty");
    const { err } = await countersign(["explain", "--form="]);
    expect(err).toBe("A file without a name cannot be read.\n");
  });

  test("keys generate prints a pair that the configuration accepts", async () => {
    const { code, out } = await countersign(["keys", "generate"]);
    expect(code).toBe(0);
    const [privateKey, publicKey] = out.match(/-----BEGIN (?:PRIVATE|PUBLIC) KEY-----[^-]+-----END (?:PRIVATE|PUBLIC) KEY-----/g) ?? [];
    expect(loadConfig({ JWT_PRIVATE_KEY: privateKey, JWT_PUBLIC_KEY: publicKey }).keys.privateKeyPem).toBe(privateKey);
  });

  test("doctor rejects an argument that is not a URL", async () => {
    for (const value of ["nonsense", "localhost:3000", "https:///"]) {
      const { code, err } = await countersign(["doctor", value]);
      expect([code, err]).toEqual([1, expect.stringContaining("It is not a URL: give one such as https://id.example.org.")]);
    }
  });

  test("an unknown command, which is sent to the help, or a missing file exits with 1", async () => {
    const unknown = await countersign(["serv"]);
    expect([unknown.code, unknown.err]).toEqual([
      1,
      expect.stringMatching(/^error: unknown command 'serv'\n.+\nSee `countersign --help`\.\n$/),
    ]);
    expect((await countersign(["agents", "list"])).err).toBe("error: unknown command 'list'\nSee `countersign agents --help`.\n");
    const missing = await countersign(["provision", "/nowhere.json"]);
    expect([missing.code, missing.err.trim()]).toEqual([1, "/nowhere.json: the provisioning file cannot be read"]);
  });
});

/** What `countersign provision` does with a file, in this process. */
async function provision(path: string, env: Record<string, string>) {
  return provisionOnly(loadConfig(env, "command"), readProvisionFile(path), path);
}

/** The addresses of the users in a data directory. */
async function usersUnder(dir: string): Promise<readonly string[]> {
  const { sql, close } = await openDatabase({ dir, migrate: false });
  return runText<{ email: string }>(sql, "select email from users")
    .then((rows) => rows.map(({ email }) => email))
    .finally(close);
}

/** The faults of a provisioning file, one a line. */
function faultsOf(text: string): string {
  try {
    parseProvisionFile(text);
    return "";
  } catch (error) {
    if (error instanceof ProvisionError) return error.faults.join("\n");
    throw error;
  }
}

const BANK = "https://bank.example.test/mcp";

describe("contract: provisioning", () => {
  const file = (content: unknown): string => {
    const path = join(aDirectory(), "provision.json");
    writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
    return path;
  };
  const plan = {
    realms: [{ name: "default", dynamicRegistrationScopes: ["openid"] }],
    users: [{ email: "op@example.test", password: "operator password", role: "operator" }],
    clients: [
      {
        clientId: "crm-agent",
        clientSecret: "s3cr3t",
        name: "CRM agent",
        scopes: ["crm:read"],
        grantTypes: ["client_credentials", "urn:ietf:params:oauth:grant-type:token-exchange"],
        tokenEndpointAuthMethod: "client_secret_basic",
        isAgent: true,
        maxAgentMode: "exec",
        audience: ["https://crm.example.test/mcp"],
        ownerEmail: "OP@example.test",
      },
    ],
  };

  test("reads a file with a byte order mark, and refuses one that is not UTF-8", async () => {
    expect(readProvisionFile(file(`\ufeff${JSON.stringify({ realms: [{ name: "guests" }] })}`)).realms).toEqual([{ name: "guests" }]);
    const path = file("");
    writeFileSync(path, JSON.stringify({ realms: [{ name: "Gäste" }] }), "latin1");
    expect(() => readProvisionFile(path)).toThrow(`${path}: the file is not UTF-8`);
  });

  test("is idempotent, and changes only what differs", async () => {
    const env = { DATA_DIR: await aDataDirectory() };
    const path = file(plan);
    const written = `written to the embedded database under ${env.DATA_DIR}\n`;
    expect((await countersign(["provision", path], env)).out).toBe(
      "realms: 0 created, 1 changed, 0 unchanged\nusers: 1 created, 0 changed, 0 unchanged\nclients: 1 created, 0 changed, 0 unchanged\n" +
        written,
    );
    const unchanged = { created: 0, changed: 0, unchanged: 1 };
    expect(await provision(path, env)).toMatchObject({ realms: unchanged, users: unchanged, clients: unchanged });
    const renamed = { ...plan, clients: plan.clients.map((client) => ({ ...client, name: "Renamed" })) };
    const changed = { created: 0, changed: 1, unchanged: 0 };
    expect(await provision(file(renamed), env)).toMatchObject({ realms: unchanged, users: unchanged, clients: changed });
  });

  test.for([
    [
      "a javascript: redirect URI",
      { clients: [{ ...plan.clients[0], redirectUris: ["javascript:alert(1)"] }] },
      "clients.0.redirectUris.0: ",
    ],
    [
      "a client with contradictory members",
      { clients: [{ ...plan.clients[0], grantTypes: ["authorization_code"], responseTypes: [] }] },
      "clients.0.responseTypes: must have code with",
    ],
  ] as const)("rejects %s and writes nothing", async ([, content, fault]) => {
    const env = { DATA_DIR: await aDataDirectory() };
    const { message } = await provision(file({ ...content, users: plan.users }), env).then(
      () => new Error("nothing was refused"),
      (error: Error) => error,
    );
    expect(message).toContain(fault);
    expect(message).not.toContain("s3cr3t");
    expect(await usersUnder(env.DATA_DIR)).toEqual([]);
  });

  test("every fault of a long file is printed", async () => {
    const clients = Array.from({ length: 5_000 }, (_, index) => ({ ...plan.clients[0], clientId: `c${index}`, grantTypes: [] }));
    const { code, err } = await countersign(["provision", file({ clients })], { DATA_DIR: await aDataDirectory() });
    expect([code, err.trimEnd().split("\n").length]).toEqual([1, clients.length]);
  });

  test.for([
    ["text that is not JSON", "{", "the file is not JSON"],
    ["an unknown member", { clients: [], groups: [] }, "file: has unknown members: groups"],
    ["a client without grants", { clients: [{ ...plan.clients[0], grantTypes: [] }] }, "clients.0.grantTypes: "],
    ["the same client twice", { clients: [plan.clients[0], plan.clients[0]] }, "clients.1: names the clientId of entry 0 again"],
    [
      "private key members",
      { clients: [{ ...plan.clients[0], jwks: { keys: [{ kty: "OKP", d: "x" }] } }] },
      "clients.0.jwks.keys.0: must not be a private or symmetric key",
    ],
    [
      "a name with a control character",
      { clients: [{ ...plan.clients[0], name: "a\u202eb" }] },
      "clients.0.name: must not contain control",
    ],
    [
      "a NUL in the name of a realm that it refers to",
      { resources: [{ resource: BANK, realm: "a\0b" }] },
      "resources.0.realm: must not contain",
    ],
    [
      "a URL that cannot be stored",
      { realms: [{ name: "default", branding: { termsUrl: "https://example.test/\0" } }] },
      "realms.0.branding.termsUrl: contains a character that cannot be stored",
    ],
    [
      "a client id of a connection that cannot be stored",
      { connections: [{ preset: "google", clientId: "a\0b" }] },
      "connections.0.clientId: contains a character that cannot be stored",
    ],
    [
      "an issuer that cannot be stored",
      { connections: [{ name: "corp", issuer: "https://example.test/\ud800", clientId: "c" }] },
      "connections.0.issuer: contains a character that cannot be stored",
    ],
    [
      "a URL of keys that cannot be stored",
      { clients: [{ ...plan.clients[0], jwksUri: "https://example.test/\0" }] },
      "clients.0.jwksUri: contains a character that cannot be stored",
    ],
    [
      "a resource that cannot be stored",
      { resources: [{ resource: "https://example.test/\ud800" }] },
      "resources.0.resource: contains a character that cannot be stored",
    ],
  ] as const)("rejects %s before it opens a database", ([, content, fault]) => {
    const faults = faultsOf(typeof content === "string" ? content : JSON.stringify(content));
    expect(faults).toContain(fault);
    expect(faults).not.toContain("s3cr3t");
  });

  test("an unknown owner rolls back the whole file", async () => {
    const env = { DATA_DIR: await aDataDirectory() };
    const orphan = { ...plan, clients: [{ ...plan.clients[0], ownerEmail: "unknown@example.test" }] };
    expect((await countersign(["provision", file(orphan)], env)).code).toBe(1);
    expect(await usersUnder(env.DATA_DIR)).toEqual([]);
  });
});
