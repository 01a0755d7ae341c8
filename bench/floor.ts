/**
 * The floor: the least that any server on this runtime would have to do. Koa without middleware, everything in maps, one Ed25519 signature a
 * token, no validation beyond what decides, no durability. Whatever the product costs beyond it is the product's own doing. With DURABLE=1 each
 * effect is one statement in PostgreSQL, too.
 */
import { generateKeyPairSync, hash, randomBytes, randomUUID, sign, timingSafeEqual, verify } from "node:crypto";
import type { IncomingMessage } from "node:http";
import Koa from "koa";
import { durableEffects, type Effects } from "./durable-effects.ts";
import { reportTo } from "./measured.ts";
import { bareProofVerification } from "./proofs.ts";
import { agents, assertingClients, assertionPublicKey, clients, REDIRECT_URI, TOKEN_EXCHANGE, users } from "./scenario.ts";

interface Granted {
  readonly sub: string;
  readonly clientId: string;
  readonly scope: string;
}

const port = Number(process.env.PORT);
const issuer = `http://localhost:${port}`;
const { privateKey, publicKey } = generateKeyPairSync("ed25519");
const header = Buffer.from(JSON.stringify({ alg: "EdDSA", typ: "at+jwt", kid: "floor" })).toString("base64url");

const secrets = new Map([...clients, ...agents].map(({ clientId, clientSecret }) => [clientId, hash("sha256", clientSecret, "buffer")]));
const sessions = new Map(users.map(({ sessionSecret }) => [hash("sha256", sessionSecret), randomUUID()]));
const asserting = new Set(assertingClients);
const usedIds = new Set<string>();
const codes = new Map<string, Granted & { readonly challenge: string }>();
const families = new Map<string, Granted>();
const verifyProof = bareProofVerification();
const verified = new Map<string, Record<string, unknown>>();

const readText = (req: IncomingMessage): Promise<string> =>
  new Promise((resolve) => {
    let text = "";
    req.setEncoding("utf8");
    req.on("data", (part: string) => {
      text += part;
    });
    req.on("end", () => resolve(text));
  });

function callerOf(authorization = ""): string {
  const [clientId = "", secret = ""] = Buffer.from(authorization.slice(6), "base64").toString().split(":");
  const expected = secrets.get(clientId);
  if (expected === undefined || !timingSafeEqual(expected, hash("sha256", secret, "buffer"))) throw new Error("wrong secret");
  return clientId;
}

/** The client that signed this assertion, which is good once. */
function asserterOf(assertion: string): string {
  const [head = "", body = "", signature = ""] = assertion.split(".");
  if (!verify(null, Buffer.from(`${head}.${body}`), assertionPublicKey, Buffer.from(signature, "base64url"))) throw new Error("not signed");
  const { sub, aud, exp, jti } = JSON.parse(Buffer.from(body, "base64url").toString());
  if (!asserting.has(sub) || aud !== issuer || exp * 1000 < Date.now() || usedIds.has(jti)) throw new Error("not good");
  usedIds.add(jti);
  return sub;
}

function jwt(claims: object): string {
  const input = `${header}.${Buffer.from(JSON.stringify(claims)).toString("base64url")}`;
  return `${input}.${sign(null, Buffer.from(input), privateKey).toString("base64url")}`;
}

/** The key of a proof of possession, which is good once. */
function provenKey(proof: string): { readonly jkt: string } {
  const { jkt, claims } = verifyProof(proof);
  const { htm, htu, iat, jti } = claims as { htm: string; htu: string; iat: number; jti: string };
  if (htm !== "POST" || htu !== `${issuer}/oauth/token` || Math.abs(iat - Date.now() / 1000) > 300 || usedIds.has(jti))
    throw new Error("no proof");
  usedIds.add(jti);
  return { jkt };
}

function tokens({ sub, clientId, scope }: Granted, more: { readonly cnf?: { readonly jkt: string }; readonly act?: object } = {}): object {
  const iat = Math.floor(Date.now() / 1000);
  const { cnf } = more;
  const claims = { iss: issuer, sub, aud: clientId, client_id: clientId, scope, iat, exp: iat + 900, jti: randomUUID(), ...more };
  return { access_token: jwt(claims), token_type: cnf === undefined ? "Bearer" : "DPoP", expires_in: 900, scope };
}

function withRefresh(granted: Granted): object {
  const refreshToken = randomBytes(32).toString("hex");
  families.set(hash("sha256", refreshToken), granted);
  return { ...tokens(granted), refresh_token: refreshToken };
}

/** What a map holds under a secret, once. */
function take<Value>(from: Map<string, Value>, secret: string | null): Value {
  const key = hash("sha256", secret ?? "");
  const value = from.get(key);
  if (value === undefined) throw new Error("not there");
  from.delete(key);
  return value;
}

function grant(form: URLSearchParams, clientId: string, proof: string | undefined): object {
  const grantType = form.get("grant_type");
  if (grantType === "client_credentials") {
    const granted = { sub: clientId, clientId, scope: form.get("scope") ?? "" };
    return tokens(granted, proof === undefined ? {} : { cnf: provenKey(proof) });
  }
  if (grantType === TOKEN_EXCHANGE) {
    const { sub, active } = introspect(form.get("subject_token") ?? "");
    if (!active || sub === undefined) throw new Error("not good");
    const exchanged = tokens({ sub, clientId, scope: form.get("scope") ?? "" }, { act: { sub: clientId } });
    return { ...exchanged, issued_token_type: "urn:ietf:params:oauth:token-type:access_token" };
  }
  if (grantType === "refresh_token") return withRefresh(take(families, form.get("refresh_token")));
  const code = take(codes, form.get("code"));
  if (hash("sha256", form.get("code_verifier") ?? "", "base64url") !== code.challenge) throw new Error("wrong verifier");
  const now = Math.floor(Date.now() / 1000);
  const idToken = jwt({ iss: issuer, sub: code.sub, aud: clientId, iat: now, exp: now + 900, auth_time: now });
  return { ...withRefresh(code), id_token: idToken };
}

/** A token of our own is checked by signing it again; once good, it is remembered. */
function introspect(token: string): { readonly active: boolean; readonly sub?: string; readonly [claim: string]: unknown } {
  const key = hash("sha256", token);
  let claims = verified.get(key);
  if (claims === undefined) {
    const [head = "", body = "", signature = ""] = token.split(".");
    const expected = sign(null, Buffer.from(`${head}.${body}`), privateKey);
    if (!timingSafeEqual(expected, Buffer.from(signature, "base64url"))) return { active: false };
    claims = JSON.parse(Buffer.from(body, "base64url").toString()) as Record<string, unknown>;
    verified.set(key, claims);
  }
  const { sub, client_id, scope, aud, iss, exp, iat } = claims;
  return { active: true, sub: String(sub), client_id, scope, aud, iss, exp, iat, token_type: "Bearer" };
}

/** The effect of a token request, once its answer is known. */
async function keep(effects: Effects, form: URLSearchParams, clientId: string, answer: { readonly refresh_token?: string }): Promise<void> {
  const assertion = form.get("client_assertion");
  const [code, from, to] = [form.get("code"), form.get("refresh_token"), answer.refresh_token];
  if (assertion !== null) await effects.consumed(JSON.parse(Buffer.from(assertion.split(".")[1] ?? "", "base64url").toString()).jti);
  else if (to === undefined) await effects.issued(clientId);
  else if (code !== null) await effects.redeemed(code, to);
  else await effects.rotated(from ?? "", to);
}

function authorize(query: string, cookie = ""): string {
  const parameters = new URLSearchParams(query);
  const sub = sessions.get(hash("sha256", cookie.slice(cookie.indexOf("=") + 1)));
  const clientId = parameters.get("client_id") ?? "";
  if (sub === undefined || !secrets.has(clientId) || parameters.get("redirect_uri") !== REDIRECT_URI) throw new Error("not to be granted");
  const code = randomBytes(32).toString("base64url");
  const challenge = parameters.get("code_challenge") ?? "";
  codes.set(hash("sha256", code), { sub, clientId, scope: parameters.get("scope") ?? "", challenge });
  return `${REDIRECT_URI}?code=${code}&state=${parameters.get("state")}&iss=${encodeURIComponent(issuer)}`;
}

const metadata = Buffer.from(
  JSON.stringify({ issuer, token_endpoint: `${issuer}/oauth/token`, jwks_uri: `${issuer}/.well-known/jwks.json` }),
);
const jwks = Buffer.from(JSON.stringify({ keys: [{ ...publicKey.export({ format: "jwk" }), use: "sig", alg: "EdDSA", kid: "floor" }] }));

const effects = process.env.DURABLE === "1" ? await durableEffects(process.env.DATABASE_URL ?? "") : undefined;
const app = new Koa();
app.use(async (ctx) => {
  switch (ctx.path) {
    case "/oauth/token": {
      const form = new URLSearchParams(await readText(ctx.req));
      const assertion = form.get("client_assertion");
      const caller = assertion === null ? callerOf(ctx.headers.authorization) : asserterOf(assertion);
      const answer = grant(form, caller, ctx.headers.dpop?.toString());
      if (effects !== undefined) await keep(effects, form, caller, answer);
      ctx.body = answer;
      return;
    }
    case "/oauth/introspect": {
      const form = new URLSearchParams(await readText(ctx.req));
      callerOf(ctx.headers.authorization);
      ctx.body = introspect(form.get("token") ?? "");
      return;
    }
    case "/oauth/authorize": {
      const location = authorize(ctx.querystring, ctx.headers.cookie);
      if (effects !== undefined) await effects.authorized(new URL(location).searchParams.get("code") ?? "");
      ctx.redirect(location);
      return;
    }
    case "/.well-known/oauth-authorization-server":
    case "/.well-known/jwks.json":
      ctx.type = "application/json";
      ctx.body = ctx.path === "/.well-known/jwks.json" ? jwks : metadata;
  }
});
const server = app.listen(port, "127.0.0.1", () => {
  reportTo(process, port, async () => {
    server.closeAllConnections();
    server.close();
  });
});
