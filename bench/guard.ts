/**
 * What the guard's verification costs a resource server, against a bare `crypto.verify` with the parsing that it takes: one process, alternating rounds, CPU
 * of the process, medians. Nothing is served: the issuer's documents come out of a function.
 */
import { generateKeyPairSync, type KeyObject, randomUUID, sign, verify } from "node:crypto";
import { createGuard, type Guard } from "@countersign/guard";
import { median } from "./report.ts";

const ISSUER = "https://issuer.bench.test";
const RESOURCE = "https://notes.bench.test/mcp";
const TOKENS = 1_000;
const ROUNDS = 15;
/** Rounds that no one looks at, until the code is compiled. */
const WARM = 5;

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** A token with the claims of a user's token of ours. */
function token(privateKey: KeyObject): string {
  const iat = Math.floor(Date.now() / 1000);
  const who = { iss: ISSUER, sub: randomUUID(), aud: RESOURCE, client_id: "bench", scope: "openid notes:read" };
  const claims = { ...who, iat, exp: iat + 900, jti: randomUUID(), token_use: "access" };
  const input = `${part({ alg: "EdDSA", typ: "at+jwt", kid: "bench" })}.${part(claims)}`;
  return `${input}.${sign(null, Buffer.from(input), privateKey).toString("base64url")}`;
}

/** The least that any verification does: find the parts, read them, check the signature. */
function bareVerification(publicKey: KeyObject): (text: string) => unknown {
  return (text) => {
    const [header = "", payload = "", signature = ""] = text.split(".");
    JSON.parse(Buffer.from(header, "base64url").toString());
    const claims = JSON.parse(Buffer.from(payload, "base64url").toString());
    if (!verify(null, Buffer.from(`${header}.${payload}`), publicKey, Buffer.from(signature, "base64url"))) throw new Error("no good");
    return claims;
  };
}

/** The issuer as a guard sees it. */
function issuerOf(publicKey: KeyObject): typeof fetch {
  const jwks_uri = `${ISSUER}/.well-known/jwks.json`;
  const keys = [{ ...publicKey.export({ format: "jwk" }), use: "sig", alg: "EdDSA", kid: "bench" }];
  return async (url) => Response.json(String(url) === jwks_uri ? { keys } : { issuer: ISSUER, jwks_uri });
}

/** A request with this token, as the adapters hand it over. */
const admitted = (guard: Guard) => async (text: string) => {
  const verdict = await guard.admit({ authorization: [`Bearer ${text}`], query: "" });
  if (!verdict.admitted) throw new Error(`refused: ${verdict.answer.status}`);
};

/** Microseconds of CPU for one token. */
async function cost(check: (text: string) => unknown, tokens: readonly string[]): Promise<number> {
  const before = process.cpuUsage();
  for (const text of tokens) await check(text);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / tokens.length;
}

export async function guardCost(): Promise<void> {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const tokens = Array.from({ length: TOKENS }, () => token(privateKey));
  const options = { resource: RESOURCE, authorizationServers: [ISSUER], scopes: ["notes:read"], fetch: issuerOf(publicKey) };
  const anew = createGuard({ ...options, tokenCacheSize: 0 });
  const remembering = createGuard({ ...options, tokenCacheSize: TOKENS });
  const ways = { bare: bareVerification(publicKey), anew: admitted(anew), repeated: admitted(remembering) };
  const found: Record<keyof typeof ways, number[]> = { bare: [], anew: [], repeated: [] };
  for (let round = 0; round < WARM + ROUNDS; round++)
    for (const way of ["bare", "anew", "repeated"] as const) {
      const spent = await cost(ways[way], tokens);
      if (round >= WARM) found[way].push(spent);
    }
  const [bare, first, again] = [median(found.bare), median(found.anew), median(found.repeated)];
  console.log(`Guard, ${ROUNDS} alternating rounds of ${TOKENS} tokens, CPU per request, Node ${process.version}\n`);
  console.log("| way | µs | ratio | budget |\n| --- | --- | --- | --- |");
  console.log(`| bare crypto.verify and parsing | ${bare.toFixed(1)} | 1 | |`);
  console.log(`| local verification | ${first.toFixed(1)} | ${(first / bare).toFixed(2)} × bare | ≤ 1.3 |`);
  console.log(`| a token seen before | ${again.toFixed(1)} | ${(again / first).toFixed(2)} × the first time | ≤ 0.1 |`);
}
