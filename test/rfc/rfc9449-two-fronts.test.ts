import { randomUUID } from "node:crypto";
import { createGuard, introspection } from "@countersign/guard";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { remoteTokenCore } from "../../src/grpc/core-client.ts";
import { runText } from "../support/database.ts";
import { ACCESS_TOKEN, CRM, DELEGATION_CLIENTS, TOKEN_EXCHANGE } from "../support/delegation.ts";
import { aProof, proofKey, thumbprintOf } from "../support/dpop.ts";
import { type Answer, asAnswer, basicAuth, claimsOf, type ServerDriver } from "../support/flow.ts";
import { PROVISIONED } from "../support/server.ts";
import { FRONT_SECRET, startTwoFronts } from "../support/two-fronts.ts";

/** Two fronts with a core each, which require nonces. The issuer, and so `htu`, is the URL of the first. */
let fronts: Awaited<ReturnType<typeof startTwoFronts>>;
beforeAll(async () => {
  fronts = await startTwoFronts({ ...PROVISIONED, clients: DELEGATION_CLIENTS }, { DPOP_NONCE: "true" });
});
afterAll(() => fronts.close());

const key = proofKey();
const worker = { authorization: basicAuth("worker", "worker-secret") };
const app = { clientId: "public-app", redirectUri: "https://app.example.test/cb" };
const SCOPE = "openid offline_access notes:read";

/** A nonce as a request without one is given it. */
async function aNonce(front: ServerDriver): Promise<string> {
  const proof = aProof(key, { url: `${fronts.here.url}/oauth/token` });
  const { status, body, headers } = await grant(front, proof);
  expect([status, body.error]).toEqual([400, "use_dpop_nonce"]);
  return headers.get("dpop-nonce") ?? "";
}
const grant = (front: ServerDriver, proof: string): Promise<Answer> =>
  front.form("/oauth/token", { grant_type: "client_credentials", scope: "notes:read" }, { ...worker, dpop: proof });
const tokenProof = (nonce: string, by = key, claims = {}) =>
  aProof(by, { url: `${fronts.here.url}/oauth/token`, claims: { nonce, ...claims } });
const asked = (front: ServerDriver, fields: Record<string, string | undefined>, proof: string) =>
  front.form("/oauth/token", { client_id: app.clientId, ...fields }, { dpop: proof });
const alternately = (n: number): ServerDriver => (n % 2 === 0 ? fronts.here : fronts.there);

async function present(front: ServerDriver, path: string, accessToken: string, { method = "GET", nonce = "" } = {}) {
  const dpop = aProof(key, { url: `${fronts.here.url}${path}`, method, accessToken, claims: nonce === "" ? {} : { nonce } });
  return asAnswer(await fetch(`${front.url}${path}`, { method, headers: { authorization: `DPoP ${accessToken}`, dpop } }));
}

let someone: ReturnType<ServerDriver["signedInUser"]> | undefined;
/** The same user for all tests that need any: an address may open a few accounts only. */
const aUser = () => (someone ??= fronts.here.signedInUser());

async function aCode(fields: Record<string, string> = {}, user = aUser()) {
  const { browser } = await user;
  return fronts.here.code(app, browser, { scope: SCOPE, ...fields });
}

describe("RFC 9449 §8: nonces", () => {
  test("a nonce of one front is good at the other; a request without one uses up neither proof nor code, and leaves no record", async () => {
    const code = await aCode({ dpop_jkt: thumbprintOf(key) });
    const jti = randomUUID();
    const refused = await asked(fronts.here, code, tokenProof("", key, { jti }));
    expect([refused.status, refused.body.error, refused.headers.get("cache-control")]).toEqual([400, "use_dpop_nonce", "no-store"]);
    expect(refused.body.error_description).toContain("DPoP-Nonce");
    const nonce = refused.headers.get("dpop-nonce") ?? "";
    const { body, status } = await asked(fronts.there, code, tokenProof(nonce, key, { jti }));
    expect([status, body.token_type, claimsOf(body.access_token).cnf]).toEqual([200, "DPoP", { jkt: thumbprintOf(key) }]);
    expect(await runText(fronts.database.sql, "select 1 from audit_records where reason like 'dpop_nonce%'")).toEqual([]);
  });

  test("a nonce that is made up is refused", async () => {
    const { body, headers } = await grant(fronts.here, tokenProof("x".repeat(43)));
    expect(body.error).toBe("use_dpop_nonce");
    expect((await grant(fronts.here, tokenProof(headers.get("dpop-nonce") ?? ""))).status).toBe(200);
  });

  test("the server's own routes ask for one and take it, and requests without a proof need none", async () => {
    const nonce = await aNonce(fronts.here);
    const { body } = await asked(fronts.here, await aCode({}, fronts.here.signedInUser()), tokenProof(nonce)); // signed out below
    for (const [path, method] of [
      ["/oauth/userinfo", "GET"],
      ["/api/clients", "GET"],
      ["/trpc/clients.list", "GET"],
      ["/auth/logout", "POST"],
    ] as const) {
      const without = await present(fronts.there, path, body.access_token, { method });
      expect([path, without.status, without.headers.get("www-authenticate"), without.headers.get("dpop-nonce")]).toEqual([
        path,
        401,
        expect.stringMatching(/^DPoP .*error="use_dpop_nonce".*algs="/),
        expect.stringMatching(/^[\w-]{43}$/),
      ]);
      const given = without.headers.get("dpop-nonce") ?? ""; // another one than before where a period ended in between
      const accepted = await present(fronts.here, path, body.access_token, { method, nonce: given });
      expect([path, accepted.headers.get("www-authenticate") ?? ""]).toEqual([path, expect.not.stringContaining("dpop")]);
    }
    const plain = await fronts.here.form("/oauth/token", { grant_type: "client_credentials", scope: "notes:read" }, worker);
    expect([plain.body.token_type, plain.headers.get("dpop-nonce")]).toEqual(["Bearer", null]);
  });

  test("scripts of other origins may read the nonce", async () => {
    const { headers } = await grant(fronts.here, tokenProof(""));
    expect(headers.get("access-control-expose-headers")).toMatch(/WWW-Authenticate.*DPoP-Nonce/);
    const preflight = await fetch(`${fronts.here.url}/oauth/token`, { method: "OPTIONS" });
    expect(preflight.headers.get("access-control-allow-headers")).toBe("Authorization, Content-Type, DPoP, MCP-Protocol-Version, *");
  });
});

describe("RFC 9449 §4.3, §7.2: over two fronts and two cores", () => {
  test("a proof for another method, path, host or time is refused", async () => {
    const nonce = await aNonce(fronts.here);
    const url = `${fronts.here.url}/oauth/token`;
    const old = Math.floor(Date.now() / 1_000) - 301;
    for (const change of [
      { method: "GET" },
      { url: `${fronts.here.url}/oauth/revoke` },
      { url: `${fronts.there.url}/oauth/token` }, // the address of the front that is asked, which is not the issuer
      { claims: { nonce, iat: old } },
    ]) {
      const { status, body } = await grant(fronts.there, aProof(key, { url, claims: { nonce }, ...change }));
      expect([change, status, body.error]).toEqual([change, 400, "invalid_dpop_proof"]);
    }
  });

  test("a proof of one front is used at the other, and a bound token is refused as a bearer token at both", async () => {
    const nonce = await aNonce(fronts.here);
    const { body } = await asked(fronts.here, await aCode(), tokenProof(nonce));
    const dpop = aProof(key, {
      url: `${fronts.here.url}/oauth/userinfo`,
      method: "GET",
      accessToken: body.access_token,
      claims: { nonce },
    });
    const headers = { authorization: `DPoP ${body.access_token}`, dpop };
    const statusesOf = (sent: Record<string, string>) =>
      Promise.all([fronts.here, fronts.there].map(async (front) => (await front.get("/oauth/userinfo", sent)).status));
    expect((await statusesOf(headers)).sort()).toEqual([200, 401]);
    const bearer = { authorization: `Bearer ${body.access_token}` };
    for (const [path, method] of [
      ["/oauth/userinfo", "GET"],
      ["/api/clients", "GET"],
      ["/trpc/clients.list", "GET"],
      ["/auth/logout", "POST"],
    ] as const)
      for (const { url } of [fronts.here, fronts.there])
        expect([path, (await fetch(`${url}${path}`, { method, headers: bearer })).status]).toEqual([path, 401]);
  });

  test("a bound token with the proof of another key, or for another token, is refused at both", async () => {
    const nonce = await aNonce(fronts.here);
    const { body } = await asked(fronts.here, await aCode(), tokenProof(nonce));
    const accessToken: string = body.access_token;
    const request = { url: `${fronts.here.url}/oauth/userinfo`, method: "GET", claims: { nonce } };
    for (const front of [fronts.here, fronts.there])
      for (const [dpop, error] of [
        [aProof(proofKey(), { ...request, accessToken }), "invalid_token"],
        [aProof(key, { ...request, accessToken: `${accessToken}x` }), "invalid_dpop_proof"],
      ] as const) {
        const answer = await front.get("/oauth/userinfo", { authorization: `DPoP ${accessToken}`, dpop });
        expect([answer.status, answer.headers.get("www-authenticate")]).toEqual([401, expect.stringContaining(`error="${error}"`)]);
      }
  });

  test("a guard that introspects at the other front takes a bound token with its proof, and not as a bearer token", async () => {
    const [clientId, clientSecret] = ["crm-rs", "crm-rs-secret"];
    const headers = { authorization: basicAuth(clientId, clientSecret), dpop: tokenProof(await aNonce(fronts.here)) };
    const fields = { grant_type: "client_credentials", scope: "crm:read", resource: CRM };
    const token: string = (await fronts.here.form("/oauth/token", fields, headers)).body.access_token;
    const endpoint = `${fronts.there.url}/oauth/introspect`;
    const verification = introspection({ clientId, clientSecret, endpoint });
    const guard = createGuard({ resource: CRM, authorizationServers: [fronts.here.url], dpop: "accepted", verification });
    const arriving = (scheme: string, by = key) => {
      const dpop = aProof(by, { url: CRM, method: "GET", accessToken: token });
      return guard.verifyRequest(new Request(CRM, { headers: { authorization: `${scheme} ${token}`, dpop } }));
    };
    expect(await arriving("DPoP")).toMatchObject({ jkt: thumbprintOf(key) });
    await expect(arriving("Bearer")).rejects.toMatchObject({ reason: "token_bound" });
    await expect(arriving("DPoP", proofKey())).rejects.toMatchObject({ reason: "token_bound_to_another_key" });
  });

  test("an agent exchanges a bound token only with a proof by a key of its own, along the whole chain", async () => {
    const nonce = await aNonce(fronts.here);
    const { browser } = await fronts.here.signedInUser();
    const web = { clientId: "web", secret: "web-secret", redirectUri: app.redirectUri };
    const code = await fronts.here.code(web, browser, { scope: "openid crm:read", resource: [CRM, "agent-1", "agent-2"] });
    const signed = { authorization: basicAuth("web", "web-secret"), dpop: tokenProof(nonce) };
    const subject: string = (await fronts.here.form("/oauth/token", code, signed)).body.access_token;
    const exchange = (front: ServerDriver, agent: string, token: string, dpop?: string) => {
      const headers = { authorization: basicAuth(agent, `${agent}-secret`), ...(dpop !== undefined && { dpop }) };
      const fields = { grant_type: TOKEN_EXCHANGE, subject_token: token, subject_token_type: ACCESS_TOKEN };
      return front.form("/oauth/token", fields, headers);
    };
    expect((await exchange(fronts.there, "agent-1", subject)).body.error).toBe("invalid_dpop_proof");
    const agentKey = proofKey();
    const first = await exchange(fronts.there, "agent-1", subject, tokenProof(nonce, agentKey));
    expect([first.body.token_type, claimsOf(first.body.access_token).cnf]).toEqual(["DPoP", { jkt: thumbprintOf(agentKey) }]);
    expect((await exchange(fronts.here, "agent-2", first.body.access_token)).body.error).toBe("invalid_dpop_proof");
    const second = await exchange(fronts.here, "agent-2", first.body.access_token, tokenProof(nonce));
    expect(claimsOf(second.body.access_token).cnf).toEqual({ jkt: thumbprintOf(key) });
  });
});

test("docs/protocol.md#releases-beside-each-other: a front that reads no proofs gets unbound tokens, and nothing that is bound", async () => {
  const front = remoteTokenCore({ url: `http://${fronts.grpc.there}`, secret: FRONT_SECRET });
  const { redirectUri } = app;
  try {
    const basic = { clientId: "worker", clientSecret: "worker-secret" };
    const grant = { case: "clientCredentials", value: { scope: "notes:read" } } as const;
    expect((await front.token({ client: { basic }, grant })).tokenType).toBe("Bearer");
    const { code, code_verifier: codeVerifier = "" } = await aCode({ dpop_jkt: thumbprintOf(key) });
    const bound = { case: "authorizationCode", value: { code: code ?? "", redirectUri, codeVerifier } } as const;
    await expect(front.token({ client: { clientId: app.clientId }, grant: bound })).rejects.toMatchObject({ code: "invalid_dpop_proof" });
  } finally {
    await front.close();
  }
});

describe("RFC 9449 §11.1: races over two fronts and two cores", () => {
  const statuses = (answers: readonly Answer[]) => answers.map(({ status }) => status).sort();

  test("one proof on 64 connections is used once", async () => {
    const proof = tokenProof(await aNonce(fronts.here));
    const answers = await Promise.all(Array.from({ length: 64 }, (_, n) => grant(alternately(n), proof)));
    const [first, ...others] = answers.filter(({ body }) => body.error !== "invalid_dpop_proof");
    expect([first?.status, others]).toEqual([expect.toBeOneOf([200, 503]), []]); // 503: the one call ran out of time on a crowded machine
    expect(statuses(answers).filter((status) => status === 400)).toHaveLength(63);
  });

  test("a used proof consumes neither code nor refresh token, and revokes nothing", async () => {
    const nonce = await aNonce(fronts.here);
    const used = tokenProof(nonce);
    expect((await grant(fronts.here, used)).status).toBe(200);
    const code = await aCode();
    expect((await asked(fronts.there, code, used)).body.error).toBe("invalid_dpop_proof");
    const first = await asked(fronts.here, code, tokenProof(nonce));
    const refresh = { grant_type: "refresh_token", refresh_token: first.body.refresh_token };
    expect((await asked(fronts.there, refresh, used)).body.error).toBe("invalid_dpop_proof");
    const second = await asked(fronts.there, refresh, tokenProof(nonce));
    expect(second.status).toBe(200);
    expect((await asked(fronts.here, refresh, used)).body.error).toBe("invalid_dpop_proof");
    const next = { ...refresh, refresh_token: second.body.refresh_token };
    expect((await asked(fronts.here, next, tokenProof(nonce))).status).toBe(200);
  });

  test("one bound code with two keys on 32 connections goes to the right key, and its tokens live on", async () => {
    const nonce = await aNonce(fronts.here);
    const code = await aCode({ dpop_jkt: thumbprintOf(key) });
    const right = tokenProof(nonce);
    const answers = await Promise.all(
      Array.from({ length: 32 }, (_, n) => asked(alternately(n), code, n % 4 < 2 ? right : tokenProof(nonce, proofKey()))),
    );
    expect(statuses(answers)).toEqual([200, ...Array(31).fill(400)]);
    const { body } = answers.find(({ status }) => status === 200) ?? {};
    expect((await present(fronts.there, "/oauth/userinfo", body.access_token, { nonce })).status).toBe(200);
  });

  test("a refresh token of a public client with right and wrong keys on 32 connections is rotated once, and its family lives on", async () => {
    const nonce = await aNonce(fronts.here);
    const first = await asked(fronts.here, await aCode(), tokenProof(nonce));
    const fields = { grant_type: "refresh_token", refresh_token: first.body.refresh_token };
    const right = tokenProof(nonce);
    const answers = await Promise.all(
      Array.from({ length: 32 }, (_, n) => asked(alternately(n), fields, n % 4 < 2 ? right : tokenProof(nonce, proofKey()))),
    );
    expect(statuses(answers)).toEqual([200, ...Array(31).fill(400)]);
    const { body } = answers.find(({ status }) => status === 200) ?? {};
    const again = await asked(fronts.there, { ...fields, refresh_token: body.refresh_token }, tokenProof(nonce));
    expect([again.status, claimsOf(again.body.access_token).cnf]).toEqual([200, { jkt: thumbprintOf(key) }]);
  });
});

describe("RFC 9126: pushed requests", () => {
  const { clientId, redirectUri } = app;

  /** Pushes at the first front. @returns the path for the browser, and what redeems the code */
  async function pushed(fields: Record<string, string> = {}, dpop?: string) {
    const { verifier, challenge } = fronts.here.pkce();
    const parameters = {
      response_type: "code",
      client_id: clientId,
      redirect_uri: redirectUri,
      scope: SCOPE,
      code_challenge_method: "S256",
    };
    const headers = dpop === undefined ? {} : { dpop };
    const answer = await fronts.here.form("/oauth/par", { ...parameters, code_challenge: challenge, ...fields }, headers);
    const path = `/oauth/authorize?${new URLSearchParams({ client_id: clientId, request_uri: answer.body.request_uri })}`;
    return { answer, path, verifier };
  }

  test("of 64 browsers at both fronts one opens a request, and of its codes one is issued", async () => {
    const { path } = await pushed();
    const opened = await Promise.all(Array.from({ length: 64 }, (_, n) => alternately(n).get(path)));
    expect(opened.filter(({ status }) => status === 302)).toHaveLength(1);
    expect(opened.filter(({ status }) => status === 400)).toHaveLength(63);

    const { browser } = await fronts.here.signedInUser();
    await fronts.here.code(app, browser, { scope: SCOPE });
    const again = await pushed();
    const visits = await Promise.all(
      Array.from({ length: 16 }, (_, n) =>
        browser.request(`${alternately(n).url}${again.path}`).then(({ headers }) => headers.get("location") ?? ""),
      ),
    );
    expect(visits.filter((location) => location.includes("code="))).toHaveLength(1);
  });

  test("a request belongs to its client and its browser at both fronts, and gives one code", async () => {
    const { path, verifier } = await pushed();
    const foreign = path.replace(`client_id=${clientId}`, "client_id=web");
    expect((await fronts.there.get(foreign)).status).toBe(400);
    const { browser } = await fronts.here.signedInUser();
    const page = await browser.follow(path);
    expect((await fronts.there.get(path)).status).toBe(400);
    const back = await browser.submit(page, { decision: "approve" });
    const code = new URLSearchParams(back.url.split("?")[1]).get("code") ?? "";
    const fields = { grant_type: "authorization_code", code, redirect_uri: redirectUri, code_verifier: verifier };
    expect((await fronts.there.token(app, fields)).status).toBe(200);
    expect((await browser.request(`${fronts.there.url}${path}`)).status).toBe(400);
  });

  test("proofs need a nonce there too, and a request without one stores nothing", async () => {
    const url = `${fronts.here.url}/oauth/par`;
    const without = await pushed({}, aProof(key, { url }));
    expect([without.answer.status, without.answer.body.error]).toEqual([400, "use_dpop_nonce"]);
    const nonce = without.answer.headers.get("dpop-nonce") ?? "";
    const { answer, path, verifier } = await pushed({}, aProof(key, { url, claims: { nonce } }));
    expect(answer.status).toBe(201);
    const { browser } = await fronts.here.signedInUser();
    const back = await browser.submit(await browser.follow(path), { decision: "approve" });
    const code = new URLSearchParams(back.url.split("?")[1]).get("code") ?? "";
    const fields = { grant_type: "authorization_code", code, redirect_uri: redirectUri, code_verifier: verifier };
    expect((await asked(fronts.there, fields, tokenProof(nonce, proofKey()))).body.error).toBe("invalid_grant");
    expect((await asked(fronts.there, fields, tokenProof(nonce))).body.token_type).toBe("DPoP");
  });
});
