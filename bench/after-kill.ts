/** How soon a server that was killed under load serves again: from its start to the first 200 of /health, and to the first token. */
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startLoadProcess } from "./processes.ts";
import { clients, OWN_SCOPE, PROVISION } from "./scenario.ts";
import { type Served, startServe } from "./serve.ts";
import { emptyStorage } from "./storage.ts";

/** Seconds of load before the kill. */
const LOADED = 3;

async function tokenFrom({ port }: Served): Promise<boolean> {
  const headers = { authorization: clients[0]?.basic ?? "", "content-type": "application/x-www-form-urlencoded" };
  const body = `grant_type=client_credentials&scope=${encodeURIComponent(OWN_SCOPE)}`;
  const response = await fetch(`http://127.0.0.1:${port}/oauth/token`, { method: "POST", headers, body });
  return response.status === 200;
}

/** @returns seconds to the first 200 of /health, and to the first token, for each kill */
async function afterKills(kind: string, kills: number): Promise<readonly (readonly [health: number, token: number])[]> {
  const storage = await emptyStorage(kind);
  const dir = mkdtempSync(join(tmpdir(), "countersign-bench-"));
  const PROVISION_FILE = join(dir, "provision.json");
  writeFileSync(PROVISION_FILE, JSON.stringify({ ...PROVISION, users: [] }));
  const settings = { PROVISION_FILE, JWT_ISSUER: "http://localhost:3000" };
  const times: [number, number][] = [];
  let server = await startServe(storage, settings);
  try {
    while (times.length < kills) {
      const load = startLoadProcess();
      const round = { port: server.port, workload: "client_credentials", seconds: LOADED + 60 } as const;
      const loaded = load.round(round, async () => undefined).catch(() => undefined); // ends with the server
      await new Promise((resolve) => setTimeout(resolve, LOADED * 1_000));
      const ended = once(server.child, "exit");
      server.child.kill("SIGKILL");
      await Promise.all([ended, loaded]);
      load.stop();
      const begun = performance.now();
      server = await startServe(storage, settings);
      const health = performance.now() - begun;
      while (!(await tokenFrom(server)));
      times.push([health / 1_000, (performance.now() - begun) / 1_000]);
    }
  } finally {
    await server.stop();
    await storage.drop();
    rmSync(dir, { recursive: true, force: true });
  }
  return times;
}

export async function startsAfterKill(kind: string, kills: number): Promise<void> {
  const times = await afterKills(kind, kills);
  const most = (which: 0 | 1) => Math.max(...times.map((one) => one[which])).toFixed(2);
  console.log(
    `Start after kill -9 under load, ${kind}, the slowest of ${kills}: ${most(0)} s to /health, ${most(1)} s to a token (at most 3)`,
  );
}
