/**
 * What hybrid signing costs: client_credentials with it beside the same without, beside what its second signature alone would allow, and how long requests
 * that need no such signature take meanwhile. One run, alternating rounds, medians.
 */
import { generateKeyPairSync } from "node:crypto";
import {
  freePort,
  type LoadProcess,
  type ServerProcess,
  startLoadProcess,
  startServerProcess,
  startSignatureProcess,
} from "./processes.ts";
import { type Figures, figuresOf, median, type Sample } from "./report.ts";
import { serverEnv } from "./serve.ts";
import type { SignatureRound } from "./signature.ts";
import { emptyStorage, STORAGE } from "./storage.ts";

/** Requests that are classical whether or not tokens are hybrid: those introspected are issued by the classical server. */
const BESIDE = ["jwks", "introspection"] as const;
type Beside = (typeof BESIDE)[number];

/** Both servers are one issuer, with one key, so that either can be asked about the other's tokens. */
const ISSUER = {
  JWT_ISSUER: "http://localhost",
  JWT_PRIVATE_KEY: generateKeyPairSync("ed25519").privateKey.export({ format: "pem", type: "pkcs8" }) as string,
};

async function start(hybrid: boolean) {
  const storage = await emptyStorage();
  const env = { ...serverEnv(storage), ...ISSUER, GRPC_PORT: String(await freePort()), HYBRID_SIGNING_ENABLED: String(hybrid) };
  const server = await startServerProcess("product.ts", env);
  const beside: Record<Beside, Sample[]> = { jwks: [], introspection: [] };
  return { server, storage, alone: [] as Sample[], beside };
}

/** Tokens being minted, with or without other requests meanwhile. @returns what came of the tokens, and of the others */
async function round(
  loads: readonly [LoadProcess, LoadProcess],
  server: ServerProcess,
  seconds: number,
  beside?: { readonly workload: Beside; readonly mintingPort: number },
): Promise<readonly Sample[]> {
  const spent: number[] = [];
  const around = async (): Promise<void> => {
    spent.push((await server.usage()).cpu);
  };
  const results = await Promise.all([
    loads[0].round({ port: server.port, workload: "client_credentials", seconds }, around),
    ...(beside === undefined ? [] : [loads[1].round({ port: server.port, seconds, ...beside }, async () => undefined)]),
  ]);
  const cpu = (spent[1] ?? 0) - (spent[0] ?? 0);
  return results.map((result) => ({ ...result, cpu }));
}

type Measured = Awaited<ReturnType<typeof start>>;

async function measure(classical: Measured, hybrid: Measured, signature: () => Promise<SignatureRound>, rounds: number, seconds: number) {
  const loads = [startLoadProcess(), startLoadProcess()] as const;
  const signatures: SignatureRound[] = [];
  try {
    for (let n = 0; n <= rounds; n++) {
      const counted = n > 0; // the first is there until the code is compiled
      const signed = await signature();
      if (counted) signatures.push(signed);
      for (const { server, alone, beside } of [classical, hybrid]) {
        const [tokens] = await round(loads, server, seconds);
        if (counted && tokens !== undefined) alone.push(tokens);
        for (const other of BESIDE) {
          const [, sample] = await round(loads, server, seconds, { workload: other, mintingPort: classical.server.port });
          if (counted && sample !== undefined) beside[other].push(sample);
        }
      }
    }
  } finally {
    for (const load of loads) load.stop();
  }
  return signatures;
}

function report(classical: Measured, hybrid: Measured, signatures: readonly SignatureRound[]): void {
  const [plain, both]: Figures[] = [figuresOf(classical.alone), figuresOf(hybrid.alone)];
  if (plain === undefined || both === undefined) throw new Error("nothing was measured");
  const alone = { rate: median(signatures.map(({ rate }) => rate)), cpu: median(signatures.map(({ cpu }) => cpu)) };
  const p99 = (of: Measured, other: Beside): number => figuresOf(of.beside[other]).p99;
  const rows = [
    [
      "CPU of a hybrid token",
      `${both.cpu.toFixed(0)} µs, ${(both.cpu / plain.cpu).toFixed(1)} × a classical one (${plain.cpu.toFixed(0)} µs)`,
      "",
    ],
    ["of that its ML-DSA-65 signature alone", `${alone.cpu.toFixed(0)} µs`, ""],
    [
      "rate of hybrid tokens",
      `${both.rate.toFixed(0)} /s, ${(both.rate / plain.rate).toFixed(2)} × classical ones (${plain.rate.toFixed(0)} /s)`,
      "",
    ],
    ["against what the signature alone allows", `${(both.rate / alone.rate).toFixed(2)} of ${alone.rate.toFixed(0)} /s`, "≥ 0.7"],
    ...BESIDE.map((other) => [
      `p99 of ${other} beside hybrid tokens`,
      `${(p99(hybrid, other) / p99(classical, other)).toFixed(2)} × beside classical ones (${p99(classical, other).toFixed(0)} ms)`,
      "≤ 1.5",
    ]),
  ];
  console.log(`| hybrid signing, ${STORAGE} | | budget |\n| --- | --- | --- |`);
  for (const row of rows) console.log(`| ${row.join(" | ")} |`);
}

export async function hybridCost(rounds: number, seconds: number): Promise<void> {
  const kinds: Measured[] = [];
  const signature = await startSignatureProcess();
  try {
    const started = async (hybrid: boolean): Promise<Measured> => {
      const kind = await start(hybrid);
      kinds.push(kind);
      return kind;
    };
    const [classical, hybrid] = [await started(false), await started(true)];
    report(classical, hybrid, await measure(classical, hybrid, () => signature.round(seconds), rounds, seconds));
  } finally {
    signature.stop();
    for (const { server, storage } of kinds) {
      await server.stop();
      await storage.drop();
    }
  }
}
