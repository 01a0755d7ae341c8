/**
 * What the guard's verification costs a resource server, against a bare `crypto.verify` with the parsing that it takes: one process, alternating rounds, CPU
 * of the process, medians. Nothing is served: the issuer's documents come out of a function.
 */
import { generateKeyPairSync, type KeyObject, randomUUID, sign, verify } from "node:crypto";
import { createGuard, type Guard } from "@countersign/guard";
import { bareProofVerification, newProof, provingKey } from "./proofs.ts";
import { median } from "./report.ts";

const ISSUER = "https://issuer.bench.test";
const RESOURCE = "https://notes.bench.test/mcp";
const TOKENS = 1_000;
const ROUNDS = 15;
/** Rounds that no one looks at, until the code is compiled. */
const WARM = 5;

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** A token with the claims of a user's token of ours. */
function token(privateKey: KeyObject, cnf?: { readonly jkt: string }): string {
  const iat = Math.floor(Date.now() / 1000);
  const who = { iss: ISSUER, sub: randomUUID(), aud: RESOURCE, client_id: "bench", scope: "openid notes:read" };
  const claims = { ...who, iat, exp: iat + 900, jti: randomUUID(), token_use: "access", cnf };
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

/** A request with a bound token and its proof. */
interface BoundRequest {
  readonly token: string;
  readonly proof: string;
}

const bothBare = (publicKey: KeyObject): ((request: BoundRequest) => unknown) => {
  const [ofToken, ofProof] = [bareVerification(publicKey), bareProofVerification()];
  return ({ token: text, proof }) => [ofToken(text), ofProof(proof)];
};

const admittedBound =
  (guard: Guard) =>
  async ({ token: text, proof }: BoundRequest) => {
    const verdict = await guard.admit({ authorization: [`DPoP ${text}`], query: "", dpop: [proof], method: "GET", path: "/mcp" });
    if (!verdict.admitted) throw new Error(`refused: ${verdict.answer.status}`);
  };

/** A request with this token, as the adapters hand it over. */
const admitted = (guard: Guard) => async (text: string) => {
  const verdict = await guard.admit({ authorization: [`Bearer ${text}`], query: "" });
  if (!verdict.admitted) throw new Error(`refused: ${verdict.answer.status}`);
};

/** Microseconds of CPU for one token. */
async function cost<Request>(check: (request: Request) => unknown, tokens: readonly Request[]): Promise<number> {
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
  await boundCost({ privateKey, publicKey }, createGuard({ ...options, tokenCacheSize: 0, dpop: "required" }));
}

/** A bound token and a new proof for each request, against one bare verification of each. */
async function boundCost(
  { privateKey, publicKey }: { readonly privateKey: KeyObject; readonly publicKey: KeyObject },
  guard: Guard,
): Promise<void> {
  const keys = Array.from({ length: 8 }, provingKey);
  const tokens = Array.from({ length: TOKENS / keys.length }, () =>
    keys.map((key) => ({ key, token: token(privateKey, { jkt: key.jkt }) })),
  ).flat();
  const ways = { bare: bothBare(publicKey), bound: admittedBound(guard) };
  const found: Record<keyof typeof ways, number[]> = { bare: [], bound: [] };
  for (let round = 0; round < WARM + ROUNDS; round++) {
    const requests = tokens.map(({ key, token: text }) => ({ token: text, proof: newProof(key, "GET", RESOURCE, text) }));
    for (const way of ["bare", "bound"] as const) {
      const spent = await cost(ways[way], requests);
      if (round >= WARM) found[way].push(spent);
    }
  }
  const [bare, bound] = [median(found.bare), median(found.bound)];
  console.log(`| bare verification of token and ES256 proof | ${bare.toFixed(1)} | 1 | |`);
  console.log(`| a bound token with a new proof | ${bound.toFixed(1)} | ${(bound / bare).toFixed(2)} × both bare | ≤ 1.3 |`);
}
