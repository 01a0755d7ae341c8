import { createServer } from "node:http";
import { createGuard, type GuardOptions } from "@countersign/guard";
import * as viaExpress from "@countersign/guard/express";
import * as viaKoa from "@countersign/guard/koa";
import { tokenVerifier } from "@countersign/guard/mcp";
import { OAuthError } from "@modelcontextprotocol/server";
import express from "express";
import Koa from "koa";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { aProof, proofKey, thumbprintOf } from "../support/dpop.ts";
import { listen, startIssuer } from "../support/guard-issuer.ts";
import { aGuardClock } from "../support/guard-modes.ts";
import { SERVER_KINDS, serve } from "../support/guard-servers.ts";

const RESOURCE = "https://notes.example.test/mcp";
const key = proofKey();
const jkt = thumbprintOf(key);

let issuer: Awaited<ReturnType<typeof startIssuer>>;
let bound: string;
let unbound: string;
beforeAll(async () => {
  issuer = await startIssuer();
  bound = await issuer.token(RESOURCE, { claims: { cnf: { jkt } } });
  unbound = await issuer.token(RESOURCE);
});
afterAll(() => issuer.close());

const guardWith = (dpop?: "accepted" | "required", options: Partial<GuardOptions> = {}) =>
  createGuard({ resource: RESOURCE, authorizationServers: [issuer.issuer], scopes: ["notes:read"], ...(dpop && { dpop }), ...options });

const proofFor = (accessToken: string, { by = key, url = RESOURCE, method = "GET", claims = {} } = {}) =>
  aProof(by, { url, method, accessToken, claims });

describe.for(SERVER_KINDS)("RFC 9449 §7: a guard of %s", (kind) => {
  async function asked(dpop: "accepted" | "required" | undefined, requests: readonly Record<string, string>[]) {
    const server = await serve(kind, guardWith(dpop));
    try {
      const answers = [];
      for (const headers of requests) {
        const response = await fetch(`${server.origin}/mcp`, { headers });
        const challenge = response.headers.get("www-authenticate") ?? "";
        answers.push([response.status, /error="([a-z_]+)"/.exec(challenge)?.[1], challenge.match(/\b(?:Bearer|DPoP) /g)?.join("")]);
      }
      return answers;
    } finally {
      await server.close();
    }
  }

  test("accepts a bound token with a proof, once, and others as bearer tokens", async () => {
    const proof = proofFor(bound);
    const requests = [
      { authorization: `DPoP ${bound}`, dpop: proof },
      { authorization: `DPoP ${bound}`, dpop: proof },
      { authorization: `Bearer ${unbound}` },
      { authorization: `Bearer ${bound}` },
      { authorization: `Bearer ${bound}`, dpop: proofFor(bound) },
      { authorization: `DPoP ${unbound}`, dpop: proofFor(unbound) },
      { authorization: `DPoP ${bound}` },
      { authorization: `DPoP ${bound}`, dpop: proofFor(bound, { by: proofKey() }) },
      { authorization: `DPoP ${bound}`, dpop: proofFor(bound, { url: "https://notes.example.test/other" }) },
      { authorization: `DPoP ${bound}`, dpop: proofFor(bound, { method: "POST" }) },
      { authorization: `DPoP ${bound}`, dpop: proofFor(unbound) },
      {},
    ];
    expect(await asked("accepted", requests)).toEqual([
      [200, undefined, undefined],
      [401, "invalid_dpop_proof", "DPoP "],
      [200, undefined, undefined],
      [401, "invalid_token", "Bearer "],
      [401, "invalid_token", "Bearer "],
      [401, "invalid_token", "DPoP "],
      [401, "invalid_dpop_proof", "DPoP "],
      [401, "invalid_token", "DPoP "],
      [401, "invalid_dpop_proof", "DPoP "],
      [401, "invalid_dpop_proof", "DPoP "],
      [401, "invalid_dpop_proof", "DPoP "],
      [401, undefined, "Bearer DPoP "],
    ]);
  });

  test("that requires bound tokens refuses others", async () => {
    const requests = [{ authorization: `DPoP ${bound}`, dpop: proofFor(bound) }, { authorization: `Bearer ${unbound}` }, {}];
    expect(await asked("required", requests)).toEqual([
      [200, undefined, undefined],
      [401, "invalid_token", "DPoP "],
      [401, undefined, "DPoP "],
    ]);
  });

  test("that requires nonces gives one, accepts it, and replaces it in time", async () => {
    const { clocks, turn } = aGuardClock();
    const server = await serve(kind, guardWith("required", { dpopNonce: true, clocks }));
    const send = async (nonce?: string) => {
      const claims = { iat: clocks.now(), ...(nonce !== undefined && { nonce }) };
      const headers = { authorization: `DPoP ${bound}`, dpop: proofFor(bound, { claims }) };
      const answer = await fetch(`${server.origin}/mcp`, { headers });
      return [answer.status, answer.headers.get("dpop-nonce"), answer.headers.get("access-control-expose-headers")] as const;
    };
    try {
      const [status, nonce, exposed] = await send();
      expect([status, exposed]).toEqual([401, "WWW-Authenticate, DPoP-Nonce"]);
      expect(await send(nonce ?? "")).toEqual([200, null, null]);
      turn(150);
      const [accepted, next, readable] = await send(nonce ?? "");
      expect([accepted, next === nonce, readable]).toEqual([200, false, "DPoP-Nonce"]);
      expect(await send(next ?? "")).toEqual([200, null, null]);
      const refused = await fetch(`${server.origin}/mcp`, { headers: { authorization: `DPoP ${bound}`, dpop: proofFor(bound) } });
      expect(refused.headers.get("www-authenticate")).toMatch(/^DPoP error="use_dpop_nonce", algs="[^"]*ES256/);
    } finally {
      await server.close();
    }
  });

  test("without the option refuses bound tokens and names the scheme Bearer alone", async () => {
    const requests = [{ authorization: `Bearer ${bound}` }, { authorization: `DPoP ${bound}`, dpop: proofFor(bound) }];
    expect(await asked(undefined, requests)).toEqual([
      [401, "invalid_token", "Bearer "],
      [401, undefined, "Bearer "],
    ]);
  });
});

test("the principal names the proven key; verifyToken refuses a bound token, which came without proof", async () => {
  const guard = guardWith("accepted");
  const inbound = { authorization: [`DPoP ${bound}`], query: "", dpop: [proofFor(bound)], method: "GET", path: "/mcp" };
  expect(await guard.admit(inbound)).toMatchObject({ admitted: true, principal: { jkt } });
  await expect(guard.verifyToken(bound)).rejects.toMatchObject({ reason: "token_bound" });
  await expect(tokenVerifier(guard).verifyAccessToken(bound)).rejects.toThrow(OAuthError);
});

test("verifyRequest takes a request with its proof, and reports refusals", async () => {
  const refused: string[] = [];
  const guard = guardWith("required", { onRefusal: ({ reason }) => void refused.push(reason) });
  const requestOf = (dpop: string) => new Request("http://127.0.0.1:4000/mcp", { headers: { authorization: `DPoP ${bound}`, dpop } });
  expect(await guard.verifyRequest(requestOf(proofFor(bound)))).toMatchObject({ jkt });
  await expect(guard.verifyRequest(requestOf(proofFor(unbound)))).rejects.toMatchObject({ code: "invalid_dpop_proof" });
  expect(refused).toEqual(["proof_for_another_token"]);
});

test("behind a proxy that takes a path away, proofs are for publicUrl and the path that arrives", async () => {
  const guard = guardWith("accepted", { publicUrl: "https://gateway.example.test/notes/" });
  const arriving = (url: string) =>
    guard.verifyRequest(
      new Request("http://10.0.0.7/mcp?page=2", { headers: { authorization: `DPoP ${bound}`, dpop: proofFor(bound, { url }) } }),
    );
  expect(await arriving("https://gateway.example.test/notes/mcp")).toMatchObject({ jkt });
  for (const other of [RESOURCE, "http://10.0.0.7/mcp", "https://gateway.example.test/mcp"])
    await expect(arriving(other)).rejects.toMatchObject({ reason: "proof_for_another_url" });
});

test("in an application of Koa or Express that is mounted below a path, proofs are for the path that the client asked for", async () => {
  const guard = guardWith("accepted");
  const koa = new Koa();
  // As koa-mount does it.
  koa.use((ctx, next) => {
    ctx.path = ctx.path.replace("/mcp", "") || "/";
    return next();
  });
  koa.use(viaKoa.protect(guard));
  koa.use((ctx) => {
    ctx.status = 204;
  });
  const connect = express();
  connect.use("/mcp", viaExpress.protect(guard), (_request, response) => void response.status(204).end());
  const mounted = express();
  mounted.use("/mcp", koa.callback());
  const statuses = [];
  for (const listener of [koa.callback(), connect, mounted]) {
    const server = await listen(createServer(listener));
    const headers = { authorization: `DPoP ${bound}`, dpop: proofFor(bound) };
    statuses.push((await fetch(`${server.origin}/mcp`, { headers })).status);
    await server.close();
  }
  expect(statuses).toEqual([204, 204, 204]);
});

test("RFC 9728 §2: the metadata document says whether tokens are bound", () => {
  const { metadata } = guardWith("required");
  expect(metadata.dpop_signing_alg_values_supported).toContain("ES256");
  expect(metadata.dpop_bound_access_tokens_required).toBe(true);
  expect(guardWith("accepted").metadata).not.toHaveProperty("dpop_bound_access_tokens_required");
  expect(guardWith().metadata).not.toHaveProperty("dpop_signing_alg_values_supported");
});
