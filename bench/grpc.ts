/**
 * What a call from a front to a core costs, by the stream and by unary methods: CPU of both processes per call, at 1 and at 32 in flight, medians of
 * alternating rounds of one run. Usage: node --conditions=countersign bench/grpc.ts
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { connectToCore, frontMetadata } from "../src/grpc/core-channel.ts";
import { remoteTokenCore } from "../src/grpc/core-client.ts";
import { startGrpcListener } from "../src/grpc/listener.ts";
import { localTokenCore, type TokenCore, type TokenCoreImplementation, tokenCoreOf } from "../src/grpc/local.ts";
import { callOnce } from "../src/grpc/unary-call.ts";

const ROUNDS = 5;
const ROUND_MS = 1_500;
const CALL = {
  client: { clientId: "bench", clientSecret: "s".repeat(43) },
  grant: { case: "clientCredentials" as const, value: { scope: "crm:read" } },
};

/** A core that answers at once, so that the way there and back is all that is measured. */
async function serve(): Promise<void> {
  const answer = { accessToken: "t".repeat(700), tokenType: "Bearer", expiresIn: 900, scope: "crm:read" };
  const only = { token: async () => answer, publicKeys: async () => ({ jwksJson: "{}" }) };
  // The other methods are not called here.
  const core = localTokenCore(only as unknown as TokenCoreImplementation);
  const listener = await startGrpcListener({ host: "127.0.0.1", port: 0, core, fronts: {}, onFault: (fault) => console.error(fault) });
  process.send?.({ port: listener.port });
  process.on("message", () => process.send?.(process.cpuUsage()));
}

async function cpuOf(child: ChildProcess): Promise<number> {
  child.send("cpu");
  const [{ user, system }] = (await once(child, "message")) as [NodeJS.CpuUsage];
  return user + system;
}

/** Microseconds of CPU of both processes, and of waiting, per call. */
async function round(core: TokenCore, child: ChildProcess, inFlight: number): Promise<{ cpu: number; wall: number }> {
  const cpuBefore = await cpuOf(child);
  const before = process.cpuUsage();
  const begun = performance.now();
  let calls = 0;
  const caller = async () => {
    while (performance.now() - begun < ROUND_MS) {
      await core.token(CALL);
      calls += 1;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, caller));
  const wall = (performance.now() - begun) * 1_000;
  const { user, system } = process.cpuUsage(before);
  return { cpu: (user + system + (await cpuOf(child)) - cpuBefore) / calls, wall: wall / calls };
}

const median = (values: number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

async function measure(): Promise<void> {
  const child = fork(new URL(import.meta.url), ["serve"]);
  const [{ port }] = (await once(child, "message")) as [{ port: number }];
  const address = { url: `http://127.0.0.1:${port}` };
  const client = connectToCore(address, "127.0.0.1");
  const metadata = frontMetadata(address);
  const stream = remoteTokenCore(address);
  const ways: [string, TokenCore][] = [
    ["unary", tokenCoreOf((_name, method) => (request) => callOnce(client, metadata, method, request, 3_000, {}))],
    ["stream", stream],
  ];
  for (const [, core] of ways) await round(core, child, 32); // warm
  for (const inFlight of [1, 32]) {
    const found = new Map(ways.map(([name]) => [name, { cpu: [] as number[], wall: [] as number[] }]));
    for (let i = 0; i < ROUNDS; i += 1) {
      for (const [name, core] of ways) {
        const { cpu, wall } = await round(core, child, inFlight);
        found.get(name)?.cpu.push(cpu);
        found.get(name)?.wall.push(wall);
      }
    }
    const cpu = [...found.values()].map((of) => median(of.cpu));
    for (const [name, of] of found) {
      console.log(
        `${inFlight} in flight, ${name}: ${median(of.cpu).toFixed(1)} µs CPU of both sides, ${median(of.wall).toFixed(1)} µs of time a call`,
      );
    }
    console.log(`${inFlight} in flight: a call by the stream costs ${((cpu[1] ?? 0) / (cpu[0] ?? 1)).toFixed(2)} of a unary call`);
  }
  await stream.close();
  client.close();
  child.kill();
}

await (process.argv[2] === "serve" ? serve() : measure());
