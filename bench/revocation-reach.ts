/**
 * How long a revocation takes to reach a guard that verifies locally: from the moment when POST /oauth/revoke is sent to one server until the guard, which
 * watches another server of the same database (embedded: the same server), refuses the token. Introspection there must see it with the answer.
 */
import { setTimeout } from "node:timers/promises";
import { createGuard } from "@countersign/guard";
import { localWithRevocations } from "@countersign/guard/grpc";
import { freePort, type ServerProcess, startServerProcess } from "./processes.ts";
import { OWN_SCOPE, RESOURCE, resourceServer } from "./scenario.ts";
import { type Served, serverEnv, startServe } from "./serve.ts";
import { emptyStorage, STORAGE } from "./storage.ts";

const WORKERS = 20;
const REVOCATIONS_EACH = 30;
/** Milliseconds within which a revocation comes at a moment of chance, so that none of them keeps time with the servers' looks at the marks. */
const SCATTER = 500;
/** Milliseconds between two tries of a token. */
const PULSE = 2;

const basic = `Basic ${Buffer.from(`${resourceServer.clientId}:${resourceServer.clientSecret}`).toString("base64")}`;

async function post(port: number, path: string, form: Record<string, string>): Promise<string> {
  const headers = { authorization: basic };
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method: "POST", headers, body: new URLSearchParams(form) });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${text}`);
  return text;
}

async function measure(port: number, watched: { readonly port: number; readonly grpcPort: number }): Promise<readonly number[]> {
  const address = `http://127.0.0.1:${watched.grpcPort}`;
  const verification = localWithRevocations({ ...resourceServer, address, whenStale: "refuse" });
  const issuer = `http://localhost:${port}`;
  const guard = createGuard({ resource: RESOURCE, authorizationServers: [issuer], verification });
  const admits = (token: string): Promise<boolean> =>
    guard.verifyToken(token).then(
      () => true,
      () => false,
    );

  async function revokeOne(): Promise<number> {
    const { access_token: token } = JSON.parse(await post(port, "/oauth/token", { grant_type: "client_credentials", scope: OWN_SCOPE }));
    await guard.verifyToken(token);
    await setTimeout(Math.random() * SCATTER);
    const sent = performance.now();
    const told = post(port, "/oauth/revoke", { token }).then(() => post(watched.port, "/oauth/introspect", { token }));
    while (await admits(token)) await setTimeout(PULSE);
    const reached = performance.now() - sent;
    if ((await told) !== '{"active":false}') throw new Error("introspection did not see a revocation that had been answered");
    return reached;
  }
  const work = async (): Promise<number[]> => {
    const times: number[] = [];
    for (let left = REVOCATIONS_EACH; left > 0; left--) times.push(await revokeOne());
    return times;
  };
  try {
    return (await Promise.all(Array.from({ length: WORKERS }, work))).flat();
  } finally {
    guard.close();
  }
}

export async function revocationReach(): Promise<void> {
  const storage = await emptyStorage();
  const running: (ServerProcess | Served)[] = [];
  try {
    const grpcPort = await freePort();
    const first = await startServerProcess("product.ts", { ...serverEnv(storage), GRPC_PORT: String(grpcPort) });
    running.push(first);
    let watched = { port: first.port, grpcPort };
    if (STORAGE !== "embedded") {
      const second = await startServe(storage, { JWT_ISSUER: `http://localhost:${first.port}` });
      running.push(second);
      watched = second;
    }
    const times = (await measure(first.port, watched)).toSorted((a, b) => a - b);
    const quantile = (share: number): string => (times[Math.floor(times.length * share)] ?? Number.NaN).toFixed(0);
    console.log(
      `${STORAGE}: a revocation reaches a guard ${watched.port === first.port ? "" : "of another server "}that verifies locally, ms\n`,
    );
    console.log("| revocations | p50 | p99 | most | aim |\n| --- | --- | --- | --- | --- |");
    console.log(`| ${times.length} | ${quantile(0.5)} | ${quantile(0.99)} | ${times.at(-1)?.toFixed(0)} | p99 < 1000 |`);
  } finally {
    for (const server of running.reverse()) await server.stop();
    await storage.drop();
  }
}
