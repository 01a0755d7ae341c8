// Kills the primary of two PostgreSQL servers under Patroni, and one of three etcd with it, while a server issues and revokes tokens, and compares
// what it acknowledged with what the promoted standby knows. Configured by deploy/ha. Needs patroni, etcd-server, haproxy and postgresql of Debian, and root.
import { type ChildProcess, spawn } from "node:child_process";
import { chownSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { descendantsOf, signal } from "../chaos/os.ts";
import { claimsOf, type ServerDriver, serverDriver } from "../test/support/flow.ts";
import { freePort } from "../test/support/free-port.ts";
import { endProcesses, pause, provisionFile, startProcess, until } from "../test/support/processes.ts";

const root = join(import.meta.dirname, "..");
/** Seconds of load before and after the primary is killed. */
const [BEFORE, AFTER] = [8, 8];
const CALLERS = 8;
const UNPRIVILEGED = { uid: 65_534, gid: 65_534 }; // PostgreSQL refuses to run as root
const PASSWORD = "of-a-cluster-that-lives-a-minute";
const CLIENT = { clientId: "failover", secret: "the secret of a client of this trial alone", redirectUri: "" };

const dir = mkdtempSync(join(tmpdir(), "countersign-failover-"));
chownSync(dir, UNPRIVILEGED.uid, UNPRIVILEGED.gid);
const children: ChildProcess[] = [];

function start(command: string, args: readonly string[], as: Partial<typeof UNPRIVILEGED> = UNPRIVILEGED): ChildProcess {
  const env = { PATH: process.env.PATH, HOME: dir };
  const child = spawn(command, args, { ...as, cwd: dir, env, stdio: ["ignore", "pipe", "pipe"] });
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk: Buffer) => process.env.FAILOVER_VERBOSE && process.stderr.write(chunk));
  }
  children.push(child);
  return child;
}

interface Node {
  readonly name: string;
  readonly port: number;
  readonly api: number;
  readonly data: string;
  readonly patroni: ChildProcess;
}

interface Etcd {
  readonly port: number;
  readonly process: ChildProcess;
}

/** Three etcd, so that two are left to elect when one of them is lost. */
async function startEtcds(): Promise<readonly Etcd[]> {
  const members = await Promise.all(
    ["etcd-1", "etcd-2", "etcd-3"].map(async (name) => ({ name, port: await freePort(), peer: await freePort() })),
  );
  const cluster = members.map(({ name, peer }) => `${name}=http://127.0.0.1:${peer}`).join(",");
  const started = members.map(({ name, port, peer }): Etcd => {
    const [clients, peers] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${peer}`];
    const own = ["--listen-client-urls", clients, "--advertise-client-urls", clients, "--listen-peer-urls", peers];
    const all = ["--initial-advertise-peer-urls", peers, "--initial-cluster", cluster];
    return { port, process: start("etcd", ["--name", name, "--data-dir", join(dir, name), ...own, ...all]) };
  });
  for (const { port } of started) await until("etcd", async () => (await fetch(`http://127.0.0.1:${port}/health`)).ok);
  return started;
}

/** A node by deploy/ha/patroni.yml, on this machine. */
async function startNode(name: string, etcds: readonly Etcd[]): Promise<Node> {
  const [port, api] = [await freePort(), await freePort()];
  const data = join(dir, name);
  const bin = globSync("/usr/lib/postgresql/*/bin").sort().at(-1) ?? "";
  const text = readFileSync(join(root, "deploy/ha/patroni.yml"), "utf8")
    .replace("name: node-1", `name: ${name}`)
    .replace(/hosts: \[.*\]/, `hosts: [${etcds.map(({ port: of }) => `127.0.0.1:${of}`).join(", ")}]`)
    .replaceAll("10.0.0.11:8008", `127.0.0.1:${api}`)
    .replaceAll("10.0.0.11:5432", `127.0.0.1:${port}`)
    .replace(/data_dir: .*/, `data_dir: ${data}`)
    .replace(/bin_dir: .*/, `bin_dir: ${bin}`)
    .replaceAll(/CHANGE-ME-\w+/g, PASSWORD)
    .replace("local all all peer", "local all all trust")
    .replace("hot_standby:", `unix_socket_directories: ${dir}\n        hot_standby:`);
  const path = join(dir, `${name}.yml`);
  writeFileSync(path, text);
  chownSync(path, UNPRIVILEGED.uid, UNPRIVILEGED.gid);
  return { name, port, api, data, patroni: start("patroni", [path]) };
}

const isPrimary = async ({ api }: Node): Promise<boolean> => (await fetch(`http://127.0.0.1:${api}/primary`)).ok;
const isSynchronous = async ({ api }: Node): Promise<boolean> => (await fetch(`http://127.0.0.1:${api}/synchronous`)).ok;

async function query<Row>(port: number, database: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ host: "127.0.0.1", port, database, user: "postgres", password: PASSWORD });
  await client.connect();
  try {
    return (await client.query(text)).rows as Row[];
  } finally {
    await client.end();
  }
}

async function startProxy(nodes: readonly Node[]): Promise<number> {
  const port = await freePort();
  const servers = nodes.map((node) => `    server ${node.name} 127.0.0.1:${node.port} check port ${node.api}`);
  const text = readFileSync(join(root, "deploy/ha/haproxy.cfg"), "utf8")
    .replace("127.0.0.1:5000\n    option", `127.0.0.1:${port}\n    option`)
    .replaceAll(/ {4}server node-\d .*\n/g, "");
  writeFileSync(join(dir, "haproxy.cfg"), `${text}${servers.join("\n")}\n`);
  start("haproxy", ["-db", "-f", join(dir, "haproxy.cfg")], {});
  return port;
}

async function startServer(databaseUrl: string): Promise<ServerDriver> {
  const client = {
    clientId: CLIENT.clientId,
    clientSecret: CLIENT.secret,
    name: "Failover",
    grantTypes: ["client_credentials"],
    tokenEndpointAuthMethod: "client_secret_basic",
    scopes: ["a"],
  };
  const settings = { LOG_LEVEL: "error", DATABASE_URL: databaseUrl, PROVISION_FILE: provisionFile({ clients: [client] }) };
  return serverDriver((await startProcess(settings)).url, "");
}

/** What the server has acknowledged, and when it last failed and first answered again, in milliseconds of this process. */
interface Journal {
  readonly issued: Map<string, string>;
  readonly revoked: Set<string>;
  failed: number;
  answered: number[];
}

/** Issues tokens, and revokes every second one. */
async function call(server: ServerDriver, journal: Journal, goesOn: () => boolean): Promise<void> {
  for (let count = 0; goesOn(); count += 1) {
    try {
      const { status, body } = await server.token(CLIENT, { grant_type: "client_credentials", scope: "a" });
      if (status !== 200) throw new Error(`status ${status}`);
      const token = String(body.access_token);
      journal.issued.set(claimsOf(token).jti, token);
      journal.answered.push(performance.now());
      if (count % 2 === 0 && (await server.revoke(CLIENT, token)).status === 200) journal.revoked.add(token);
    } catch {
      journal.failed += 1;
      await pause(50);
    }
  }
}

/** @returns acknowledged tokens without a record, and acknowledged revocations without effect */
async function audit(server: ServerDriver, port: number, journal: Journal) {
  const rows = await query<{ jti: string }>(port, "countersign", "select jti from audit_records where event = 'token.issued'");
  const kept = new Set(rows.map(({ jti }) => jti));
  let alive = 0;
  for (const token of journal.revoked) {
    const { body } = await server.introspect(CLIENT, token);
    if (body.active !== false) alive += 1;
  }
  return { lost: [...journal.issued.keys()].filter((jti) => !kept.has(jti)).length, alive };
}

/** Kills Patroni and PostgreSQL of a node at once, as a power cut does. */
function cutPower({ patroni, data }: Node): void {
  const postmaster = Number(readFileSync(join(data, "postmaster.pid"), "utf8").split("\n", 1)[0]);
  patroni.kill("SIGKILL");
  signal([postmaster, ...descendantsOf(postmaster)], "SIGKILL");
}

async function run(): Promise<boolean> {
  const etcds = await startEtcds();
  const primary = await startNode("node-1", etcds);
  await until("the first primary", () => isPrimary(primary));
  const standby = await startNode("node-2", etcds);
  await until("the synchronous standby", () => isSynchronous(standby));
  await query(primary.port, "postgres", `create role countersign login password '${PASSWORD}'`);
  await query(primary.port, "postgres", "create database countersign owner countersign");
  const proxy = await startProxy([primary, standby]);
  const server = await startServer(`postgres://countersign:${PASSWORD}@127.0.0.1:${proxy}/countersign`);

  const journal: Journal = { issued: new Map(), revoked: new Set(), failed: 0, answered: [] };
  let goesOn = true;
  const load = Array.from({ length: CALLERS }, () => call(server, journal, () => goesOn));
  await pause(BEFORE * 1000);
  const before = journal.issued.size;
  const killed = performance.now();
  cutPower(primary);
  etcds[0]?.process.kill("SIGKILL"); // it ran on the same host
  await until("the promotion", () => isPrimary(standby));
  const promoted = (performance.now() - killed) / 1000;
  const first = () => journal.answered.find((moment) => moment > killed + 1_000);
  await until("an answer", async () => first() !== undefined);
  const back = ((first() ?? Number.NaN) - killed) / 1000;
  await pause(AFTER * 1000);
  goesOn = false;
  await Promise.all(load);
  const { lost, alive } = await audit(server, standby.port, journal);
  const rows: readonly (readonly [string, string | number])[] = [
    ["tokens acknowledged before the kill", before],
    ["tokens acknowledged in all", journal.issued.size],
    ["revocations acknowledged", journal.revoked.size],
    ["requests that failed and were repeated", journal.failed],
    ["seconds until Patroni had promoted the standby", promoted.toFixed(1)],
    ["seconds until the first right answer", back.toFixed(1)],
    ["acknowledged tokens without a record", lost],
    ["acknowledged revocations without effect", alive],
  ];
  console.log(["| what | |", "| --- | --- |", ...rows.map(([what, figure]) => `| ${what} | ${figure} |`)].join("\n"));
  return lost === 0 && alive === 0 && back <= promoted + 2;
}

try {
  process.exitCode = (await run()) ? 0 : 1;
} finally {
  await endProcesses();
  for (const child of children.reverse()) child.kill("SIGTERM");
  await pause(3_000);
  for (const child of children) child.kill("SIGKILL");
  rmSync(dir, { recursive: true, force: true });
}
