/**
 * What hybrid signing costs: client_credentials with it as a ratio to the same without, and how long classical requests (the JWK Set) take beside it, as a
 * ratio to beside classical signing. One run, alternating rounds, medians. Usage: node --conditions=countersign bench/hybrid.ts
 */
import { freePort, type LoadProcess, type ServerProcess, startLoadProcess, startServerProcess } from "./processes.ts";
import { figuresOf, type Sample } from "./report.ts";
import { serverEnv } from "./serve.ts";
import { emptyStorage, STORAGE } from "./storage.ts";

const ROUNDS = 3;
const SECONDS = 2;

async function start(hybrid: boolean) {
  const storage = await emptyStorage();
  const env = { ...serverEnv(storage), GRPC_PORT: String(await freePort()), HYBRID_SIGNING_ENABLED: String(hybrid) };
  const server = await startServerProcess("product.ts", env);
  return { hybrid, server, storage, tokens: [] as Sample[], beside: [] as Sample[] };
}

async function round(loads: readonly [LoadProcess, LoadProcess], server: ServerProcess): Promise<readonly [Sample, Sample]> {
  const spent: number[] = [];
  const around = async (): Promise<void> => {
    spent.push((await server.usage()).cpu);
  };
  const [tokens, beside] = await Promise.all([
    loads[0].round({ port: server.port, workload: "client_credentials", seconds: SECONDS }, around),
    loads[1].round({ port: server.port, workload: "jwks", seconds: SECONDS }, async () => undefined),
  ]);
  const cpu = (spent[1] ?? 0) - (spent[0] ?? 0);
  return [
    { ...tokens, cpu },
    { ...beside, cpu },
  ];
}

const loads = [startLoadProcess(), startLoadProcess()] as const;
const both = [await start(false), await start(true)];
try {
  for (let n = 0; n <= ROUNDS; n++) {
    for (const { server, tokens, beside } of both) {
      const [first, second] = await round(loads, server);
      if (n === 0) continue; // until the code is compiled
      tokens.push(first);
      beside.push(second);
    }
  }
  const [classical, hybrid] = both.map(({ tokens, beside }) => ({ tokens: figuresOf(tokens), beside: figuresOf(beside) }));
  if (classical === undefined || hybrid === undefined) throw new Error("nothing was measured");
  console.log(`${STORAGE}; hybrid to classical: rate of client_credentials × ${(hybrid.tokens.rate / classical.tokens.rate).toFixed(2)}`);
  console.log(`p99 of the JWK Set beside it × ${(hybrid.beside.p99 / classical.beside.p99).toFixed(2)}`);
  console.log(`(${classical.tokens.rate.toFixed(0)} and ${hybrid.tokens.rate.toFixed(0)} tokens/s on this machine)`);
} finally {
  for (const load of loads) load.stop();
  for (const { server, storage } of both) {
    await server.stop();
    await storage.drop();
  }
}
