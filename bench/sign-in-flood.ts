/**
 * What a flood of sign-ins leaves to everybody else: the p99 of client_credentials at a constant rate, without and with wrong passwords in
 * flight, in turns. The server and its hashing process run where the system puts them.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startOpenLoop } from "./processes.ts";
import { PROVISION } from "./scenario.ts";
import { type Served, startServe } from "./serve.ts";
import { emptyStorage } from "./storage.ts";

/** Requests of client_credentials per second, and their connections. */
const [RATE, CONNECTIONS] = [200, 200];
/** Wrong passwords in flight. */
const FLOOD = 100;
/** Seconds at the beginning of each round that are not counted. */
const SETTLING = 1;
/** Times the p99 without sign-ins. */
const AIM = 2;

/** Sends wrong passwords for accounts that do not exist, each from an address of its own, until it is stopped. */
function flooding(port: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: FLOOD });
  let [stopped, verdicts, refusals, sent] = [false, 0, 0, 0];
  const tryOne = (n: number) =>
    new Promise<void>((resolve, reject) => {
      const headers = { "content-type": "application/json", "x-forwarded-for": `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}` };
      const call = request({ port, method: "POST", path: "/auth/login", agent, headers }, (response) => {
        if (response.statusCode === 401) verdicts += 1;
        else refusals += 1;
        response.resume().once("end", resolve);
      });
      call.once("error", reject).end(JSON.stringify({ email: `flood${n}@example.com`, password: "wrong password" }));
    });
  const attacker = async (): Promise<void> => {
    while (!stopped) await tryOne(++sent);
  };
  const all = Promise.all(Array.from({ length: FLOOD }, attacker));
  return async () => {
    stopped = true;
    await all;
    agent.destroy();
    return { verdicts, refusals };
  };
}

interface Pair {
  readonly quiet: number;
  readonly flooded: number;
  readonly verdicts: number;
  readonly refusals: number;
}

async function measurePair({ port }: Served, seconds: number): Promise<Pair> {
  const p99 = async (): Promise<number> => {
    const load = startOpenLoop();
    try {
      const round = { port, workload: "client_credentials", rate: RATE, connections: CONNECTIONS, settling: SETTLING } as const;
      const result = await load.round({ ...round, seconds: seconds + SETTLING });
      if (result.good !== result.due) throw new Error(`${result.due - result.good} of ${result.due} tokens were not served`);
      return result.p99;
    } finally {
      load.stop();
    }
  };
  const quiet = await p99();
  const flood = flooding(port);
  const flooded = await p99();
  return { quiet, flooded, ...(await flood()) };
}

const middle = (numbers: readonly number[]): number => numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? Number.NaN;

export async function signInFlood(kind: string, rounds: number, seconds: number): Promise<void> {
  const storage = await emptyStorage(kind);
  const dir = mkdtempSync(join(tmpdir(), "countersign-bench-"));
  const PROVISION_FILE = join(dir, "provision.json");
  writeFileSync(PROVISION_FILE, JSON.stringify({ ...PROVISION, users: [] }));
  const server = await startServe(storage, { PROVISION_FILE, JWT_ISSUER: "http://localhost:3000", TRUST_PROXY: "true" });
  try {
    await measurePair(server, 1); // the first round is slower
    const pairs: Pair[] = [];
    while (pairs.length < rounds) pairs.push(await measurePair(server, seconds));
    const column = (name: keyof Pair): string =>
      pairs.map((pair) => pair[name].toFixed(name === "quiet" || name === "flooded" ? 1 : 0)).join(", ");
    console.log(`client_credentials, ${RATE} a second, beside ${FLOOD} wrong passwords in flight, ${kind}; each round apart\n`);
    console.log(
      "| p99 ms without | p99 ms with | ratio, the middle one | aim | passwords judged | refused |\n| --- | --- | --- | --- | --- | --- |",
    );
    const ratio = middle(pairs.map(({ quiet, flooded }) => flooded / quiet)).toFixed(2);
    console.log(`| ${[column("quiet"), column("flooded"), ratio, AIM, column("verdicts"), column("refusals")].join(" | ")} |`);
  } finally {
    await server.stop();
    await storage.drop();
    rmSync(dir, { recursive: true, force: true });
  }
}
