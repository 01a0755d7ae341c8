import { randomUUID, sign } from "node:crypto";
import type { Connection, Reply } from "./connection.ts";
import { newProof, provingKey } from "./proofs.ts";
import {
  agents,
  assertingClients,
  assertionKey,
  clients,
  codeChallenge,
  codeVerifier,
  IN_FLIGHT,
  OWN_SCOPE,
  pick,
  REDIRECT_URI,
  RESOURCE,
  SCOPE,
  TOKEN_EXCHANGE,
  users,
} from "./scenario.ts";

/** One operation of a workload; false when there is nothing left to do it with. */
export type Step = (on: Connection) => Promise<boolean>;

export interface Workload {
  /**
   * Brings about what the operations need, unmeasured.
   * @param seconds of the round that follows  @param port of the server, which is in the name of its issuer
   * @param minting connections to the server that issues the tokens to be introspected, if it is another
   * @returns the operation of each of the workers
   */
  prepare(on: readonly Connection[], seconds: number, port: number, minting?: readonly Connection[]): Promise<(worker: number) => Step>;
}

const HOST = "localhost";

const get = (path: string, headers = ""): string => `GET ${path} HTTP/1.1\r\nHost: ${HOST}\r\n${headers}\r\n`;

const post = (path: string, basic: string | undefined, body: string): string =>
  `POST ${path} HTTP/1.1\r\nHost: ${HOST}\r\n${basic === undefined ? "" : `Authorization: ${basic}\r\n`}Content-Type: application/x-www-form-urlencoded\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

const form = (fields: Record<string, string>): string => new URLSearchParams(fields).toString();

/** An answer with another status than the operation expects. */
export class UnexpectedStatus extends Error {
  readonly status: number;

  constructor({ status, body }: Reply, expected: number) {
    super(`${status} instead of ${expected}: ${body.slice(0, 200)}`);
    this.status = status;
  }
}

function expectStatus(reply: Reply, status: number): Reply {
  if (reply.status !== status) throw new UnexpectedStatus(reply, status);
  return reply;
}

/** A text member of a JSON answer, without parsing all of it. */
function member(reply: Reply, name: string): string {
  const start = reply.body.indexOf(`"${name}":"`);
  if (start === -1) throw new Error(`no ${name} in ${reply.body.slice(0, 200)}`);
  const from = start + name.length + 4;
  return reply.body.slice(from, reply.body.indexOf('"', from));
}

const OWN_BODY = form({ grant_type: "client_credentials", scope: OWN_SCOPE });

async function ownToken(on: Connection, worker: number): Promise<string> {
  const reply = await on.send(post("/oauth/token", pick(clients, worker).basic, OWN_BODY));
  return member(expectStatus(reply, 200), "access_token");
}

/** As many access tokens as asked for, each with the client that it belongs to. */
async function issuedTokens(on: readonly Connection[], count: number): Promise<{ readonly token: string; readonly client: number }[]> {
  const minted: { token: string; client: number }[] = [];
  const mint = async (connection: Connection, client: number): Promise<void> => {
    for (let left = Math.ceil(count / on.length); left > 0; left--) minted.push({ token: await ownToken(connection, client), client });
  };
  await Promise.all(on.map(mint));
  return minted;
}

async function introspected(on: Connection, { token, client }: { readonly token: string; readonly client: number }): Promise<boolean> {
  const reply = await on.send(post("/oauth/introspect", pick(clients, client).basic, `token=${token}`));
  if (!expectStatus(reply, 200).body.startsWith('{"active":true')) throw new Error(`not active: ${reply.body}`);
  return true;
}

const base64url = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const ASSERTION_HEADER = base64url({ alg: "EdDSA", typ: "JWT" });

/** The body of a token request that a client proves itself in by a key of its own (RFC 7523 §2.2). */
function assertingBody(clientId: string, port: number): string {
  const now = Math.floor(Date.now() / 1000);
  const claims = { iss: clientId, sub: clientId, aud: `http://localhost:${port}`, jti: randomUUID(), iat: now, exp: now + 300 };
  const input = `${ASSERTION_HEADER}.${base64url(claims)}`;
  const assertion = `${input}.${sign(null, Buffer.from(input), assertionKey).toString("base64url")}`;
  const client_assertion_type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
  return form({ grant_type: "client_credentials", scope: OWN_SCOPE, client_assertion_type, client_assertion: assertion });
}

/** A user who is signed in and has consented gets a code, and her client redeems it. @param resources that the token is for; none: the client */
async function codeFlow(on: Connection, worker: number, resources: readonly string[] = []): Promise<Reply> {
  const { clientId, basic } = pick(clients, worker);
  const query = form({
    response_type: "code",
    client_id: clientId,
    redirect_uri: REDIRECT_URI,
    scope: SCOPE,
    state: "af0ifjsldkj",
    code_challenge: codeChallenge,
    code_challenge_method: "S256",
  });
  const named = resources.map((resource) => `&resource=${encodeURIComponent(resource)}`).join("");
  const cookie = `Cookie: countersign=${pick(users, worker).sessionSecret}\r\n`;
  const redirect = await on.send(get(`/oauth/authorize?${query}${named}`, cookie));
  const { head } = redirect.status === 303 ? redirect : expectStatus(redirect, 302);
  const code = /[?&]code=([^&\s]+)/.exec(head)?.[1];
  if (code === undefined) throw new Error(`no code: ${head}`);
  const redemption = form({ grant_type: "authorization_code", code, redirect_uri: REDIRECT_URI, code_verifier: codeVerifier });
  return expectStatus(await on.send(post("/oauth/token", basic, redemption)), 200);
}

/** A code flow of each worker, as many at once as are in flight. */
async function codeFlows(on: readonly Connection[], resourcesOf?: (worker: number) => readonly string[]): Promise<Reply[]> {
  const replies: Reply[] = [];
  for (let from = 0; from < on.length; from += IN_FLIGHT)
    replies.push(
      ...(await Promise.all(on.slice(from, from + IN_FLIGHT).map((one, n) => codeFlow(one, from + n, resourcesOf?.(from + n))))),
    );
  return replies;
}

/** Operations that one worker never comes to the end of. */
const endless = (step: (on: Connection, worker: number) => Promise<unknown>): Workload => ({
  prepare: async () => (worker) => async (on) => {
    await step(on, worker);
    return true;
  },
});

const fetching = (path: string): Workload => endless(async (on) => expectStatus(await on.send(get(path)), 200));

/** Tokens that are introspected over and over. */
const LIVE = 512;
/** First-seen tokens and assertions for each second of a round, which ends early when they are used up. */
const FRESH_PER_SECOND = 6_000;

export const WORKLOADS = {
  client_credentials: endless(ownToken),
  private_key_jwt: {
    async prepare(_on, seconds, port) {
      const count = Math.ceil(FRESH_PER_SECOND * seconds);
      const bodies = Array.from({ length: count }, (_, n) => assertingBody(pick(assertingClients, n), port));
      return () => async (connection) => {
        const body = bodies.pop();
        if (body === undefined) return false;
        expectStatus(await connection.send(post("/oauth/token", undefined, body)), 200);
        return true;
      };
    },
  },
  dpop: {
    async prepare(_on, seconds, port) {
      const keys = Array.from({ length: clients.length }, provingKey);
      const count = Math.ceil(FRESH_PER_SECOND * seconds);
      const proofs = Array.from({ length: count }, (_, n) => newProof(pick(keys, n), "POST", `http://localhost:${port}/oauth/token`));
      return (worker) => async (connection) => {
        const proof = proofs.pop();
        if (proof === undefined) return false;
        const reply = await connection.send(post("/oauth/token", `${pick(clients, worker).basic}\r\nDPoP: ${proof}`, OWN_BODY));
        if (member(expectStatus(reply, 200), "token_type") !== "DPoP") throw new Error("not bound");
        return true;
      };
    },
  },
  introspection: {
    async prepare(on, _seconds, _port, minting = on) {
      const tokens = await issuedTokens(minting, LIVE);
      for (const token of tokens) await introspected(pick(on, token.client), token); // seen once, so that every operation sees one again
      let next = 0;
      return () => (connection) => introspected(connection, pick(tokens, next++));
    },
  },
  introspection_first_seen: {
    async prepare(on, seconds) {
      const tokens = await issuedTokens(on, Math.ceil(FRESH_PER_SECOND * seconds));
      return () => async (connection) => {
        const token = tokens.pop();
        return token !== undefined && introspected(connection, token);
      };
    },
  },
  refresh: {
    async prepare(on) {
      const current = (await codeFlows(on)).map((reply) => member(reply, "refresh_token"));
      return (worker) => async (connection) => {
        const body = form({ grant_type: "refresh_token", refresh_token: current[worker] ?? "" });
        const reply = await connection.send(post("/oauth/token", pick(clients, worker).basic, body));
        current[worker] = member(expectStatus(reply, 200), "refresh_token");
        return true;
      };
    },
  },
  code_flow: endless((on, worker) => codeFlow(on, worker)),
  token_exchange: {
    async prepare(on) {
      const flows = await codeFlows(on, (worker) => [RESOURCE, pick(agents, worker).clientId]);
      const subject_token_type = "urn:ietf:params:oauth:token-type:access_token";
      const bodies = flows.map((reply) => {
        const subject_token = member(reply, "access_token");
        return form({ grant_type: TOKEN_EXCHANGE, subject_token, subject_token_type, resource: RESOURCE, scope: OWN_SCOPE });
      });
      return (worker) => async (connection) => {
        const reply = await connection.send(post("/oauth/token", pick(agents, worker).basic, pick(bodies, worker)));
        member(expectStatus(reply, 200), "issued_token_type");
        return true;
      };
    },
  },
  metadata: fetching("/.well-known/oauth-authorization-server"),
  jwks: fetching("/.well-known/jwks.json"),
} as const satisfies Record<string, Workload>;

export type WorkloadName = keyof typeof WORKLOADS;

export const WORKLOAD_NAMES = Object.keys(WORKLOADS) as WorkloadName[];
