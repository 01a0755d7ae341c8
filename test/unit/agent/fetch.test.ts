import { Readable } from "node:stream";
import { inspect } from "node:util";
import { type Agent, type AgentOptions, agent, clientSecret, generateProofKey, publicClient } from "@countersign/agent";
import { calculateJwkThumbprint, type JWK } from "jose";
import { afterAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { type SmallAnswer, smallResource } from "../../support/small-resource.ts";

const OTHER = "https://other.example.test";
const REFUSED = { status: 401, headers: { "www-authenticate": 'Bearer error="invalid_token"' } };

/** An authorization server that issues `token 1`, `token 2` and so on, bound where it sees a proof. */
let issued = 0;
const issuer = await smallResource(({ path, proof, body }, origin) => {
  if (path.startsWith("/.well-known/")) {
    const endpoints = { authorization_endpoint: `${origin}/authorize`, token_endpoint: `${origin}/token` };
    return { json: { issuer: origin, ...endpoints, dpop_signing_alg_values_supported: ["ES256"] } };
  }
  issued += 1;
  const refresh = body.includes("client_credentials") ? {} : { refresh_token: `refresh ${issued}` };
  return { json: { access_token: `token ${issued}`, token_type: proof === undefined ? "Bearer" : "DPoP", expires_in: 900, ...refresh } };
});
afterAll(issuer.close);
beforeEach(() => {
  issued = 0;
  issuer.received.splice(0);
});

const anAgent = (options: Partial<AgentOptions> = {}) =>
  agent({ issuer: issuer.origin, clientId: "a", credential: clientSecret("s"), ...options });

async function serving(answer: Parameters<typeof smallResource>[0]) {
  const resource = await smallResource(answer);
  onTestFinished(resource.close);
  return resource;
}

interface Behaviour {
  readonly document?: object;
  readonly challenge?: string;
  /** What requests with a token are answered. */
  readonly answer?: (authorization: string) => SmallAnswer;
}

/** A resource server at `/api`, well or badly behaved. */
const guarded = ({ document = {}, challenge, answer = () => ({}) }: Behaviour = {}) =>
  serving(({ path, authorization }, origin) => {
    if (path.startsWith("/.well-known/"))
      return { json: { resource: `${origin}/api`, authorization_servers: [issuer.origin], ...document } };
    if (authorization !== undefined) return answer(authorization);
    const named = `Bearer scope="x", resource_metadata="${origin}/.well-known/oauth-protected-resource/api"`;
    return { status: 401, headers: { "www-authenticate": challenge ?? named } };
  });

/** The status, or the code of the error. */
const outcomeOf = (response: Promise<Response>) =>
  response.then(
    ({ status }) => status,
    ({ code }: { code: string }) => code,
  );

describe("a resource server that cannot be trusted", () => {
  test.for<[string, Behaviour, string]>([
    ["for another resource", { document: { resource: "https://bank.example/api" } }, "wrong_resource"],
    ["of another issuer", { document: { authorization_servers: [OTHER] } }, "wrong_issuer"],
    ["by another server's document", { challenge: `Bearer resource_metadata="${OTHER}/m"` }, "wrong_resource"],
    ["by a document that names no resource", { document: { resource: 1 } }, "invalid_response"],
  ])("draws no token %s", async ([, behaviour, code]) => {
    const resource = await guarded(behaviour);
    expect(await outcomeOf(anAgent().fetch(`${resource.origin}/api`))).toBe(code);
    expect([issuer.received, resource.received.filter(({ authorization }) => authorization !== undefined)]).toEqual([[], []]);
  });

  test("that redirects gets the token at no other address, unless the caller follows by itself", async () => {
    const thief = await serving(() => ({}));
    const resource = await guarded({ answer: () => ({ status: 307, headers: { location: thief.origin } }) });
    expect(await outcomeOf(anAgent().fetch(`${resource.origin}/api`))).toBe("redirect_refused");
    expect(await outcomeOf(anAgent().fetch(`${resource.origin}/api`, { redirect: "manual" }))).toBe(307);
    expect(thief.received).toEqual([]);
  });

  test("that goes on refusing is asked twice, and its answer returned", async () => {
    const resource = await guarded({ answer: () => REFUSED });
    expect([await outcomeOf(anAgent().fetch(`${resource.origin}/api`)), issued]).toEqual([401, 2]);
  });
});

test("a resource server that asks for no token gets none; nor does one that asks for a password, or by plain http", async () => {
  const open = await serving(({ path }) => (path === "/basic" ? { status: 401, headers: { "www-authenticate": 'Basic realm="x"' } } : {}));
  const mine = anAgent();
  expect(await Promise.all(["/", "/basic"].map((path) => outcomeOf(mine.fetch(open.origin + path))))).toEqual([200, 401]);
  expect(await outcomeOf(mine.fetch("http://notes.example/mcp"))).toBe("wrong_resource");
  expect(issued).toBe(0);
});

test("a password in a URL gets no token, and is in no message", async () => {
  const messages = [
    anAgent().fetch("https://ada:secret@notes.example/api"),
    anAgent().own({ resource: "https://ada:secret@a.example" }).fetch("https://b.example"),
    anAgent().own({ resource: "https:ada:secret@a.example" }).fetch("https://b.example"),
  ];
  const shown = await Promise.all(messages.map((each) => each.catch(({ message }: Error) => message)));
  expect(shown).toEqual([
    "https://notes.example/api is not https, or has user info, so no token is sent to it",
    "https://b.example/ is not within https://a.example/",
    "https://b.example/ is not within https://a.example/",
  ]);
});

test("what the caller sends arrives: method, body and header fields, from a URL or a Request", async () => {
  const resource = await guarded();
  const mine = anAgent();
  await mine.fetch(new URL("/api/a?b=c#d", resource.origin), { method: "PUT", body: new URLSearchParams({ e: "f" }) });
  await mine.fetch(new Request(`${resource.origin}/api`, { headers: { accept: "text/plain" } }), { method: "DELETE" });
  expect(resource.received.filter(({ authorization }) => authorization === "Bearer token 1")).toMatchObject([
    { method: "PUT", path: "/api/a?b=c", body: "e=f" },
    { method: "DELETE", path: "/api", body: "" },
  ]);
});

test("a body that is a stream is sent once, with its token", async () => {
  const resource = await guarded();
  const mine = anAgent();
  const upload = (path: string) => {
    const body = Readable.toWeb(Readable.from([Buffer.from("a"), Buffer.from("b")])) as BodyInit;
    return mine.fetch(new Request(`${resource.origin}${path}`, { method: "POST", body, duplex: "half" } as RequestInit));
  };
  expect([(await upload("/api")).status, (await upload("/api/x")).status]).toEqual([200, 200]);
  const posts = resource.received.filter(({ method }) => method === "POST");
  expect(posts.map(({ body, authorization }) => [body, authorization])).toEqual([
    ["ab", "Bearer token 1"],
    ["ab", "Bearer token 1"],
  ]);
});

test("64 requests at once to an unknown resource server need one document and one token", async () => {
  const resource = await guarded();
  const mine = anAgent();
  const statuses = await Promise.all(Array.from({ length: 64 }, () => outcomeOf(mine.fetch(`${resource.origin}/api`))));
  expect([new Set(statuses), issued]).toEqual([new Set([200]), 1]);
});

test("after a sign-in a refused token is renewed by the refresh token, which is used once", async () => {
  const resource = await guarded({
    answer: (authorization) => (authorization.endsWith(" 1") || authorization.endsWith(" 2") ? REFUSED : {}),
  });
  const app = anAgent({ credential: publicClient() });
  const { url, finish } = await app.signIn({ resource: `${resource.origin}/api`, scope: "x", redirectUri: "http://127.0.0.1/cb" });
  const state = new URL(url).searchParams.get("state");
  const access = await finish(`http://127.0.0.1/cb?code=c&state=${state}&iss=${encodeURIComponent(issuer.origin)}`);
  expect([await outcomeOf(access.fetch(`${resource.origin}/api`)), await outcomeOf(access.fetch(`${resource.origin}/api`))]).toEqual([
    401, 200,
  ]);
  const grants = issuer.received.flatMap(({ body }) => (body === "" ? [] : [new URLSearchParams(body)]));
  expect(grants.map((grant) => grant.get("refresh_token") ?? grant.get("grant_type"))).toEqual([
    "authorization_code",
    "refresh 1",
    "refresh 2",
  ]);
  expect(await outcomeOf(access.fetch(`${resource.origin}/other`))).toBe("wrong_resource");
  for (const callback of [`code=c&state=${state}&iss=${OTHER}`, "code=c&state=other", `state=${state}`])
    await expect(finish(`http://127.0.0.1/cb?${callback}`)).rejects.toMatchObject({ code: "sign_in_invalid" });
  await expect(finish(`http://127.0.0.1/cb?error=access_denied&state=${state}`)).rejects.toMatchObject({ code: "access_denied" });
});

test("a sign-in ends at the target of a request too, and any other text is refused without being repeated", async () => {
  const resource = await guarded();
  const app = anAgent({ credential: publicClient() });
  const { url, finish } = await app.signIn({ resource: `${resource.origin}/api`, redirectUri: "http://127.0.0.1/cb" });
  const state = new URL(url).searchParams.get("state");
  const refusal = await finish("http://?code=secret").catch((error: unknown) => error);
  expect([refusal, inspect(refusal)]).toEqual([
    expect.objectContaining({ code: "sign_in_invalid" }),
    expect.not.stringContaining("secret"),
  ]);
  const access = await finish(`/cb?code=c&state=${state}`);
  expect(await outcomeOf(access.fetch(`${resource.origin}/api`))).toBe(200);
});

test("a token at hand works while the authorization server is away, and its metadata is read again once it is back", async () => {
  let isAway = false;
  let path = "/token";
  const away = await serving(({ path: asked }, origin) => {
    if (isAway) return { status: 503 };
    if (asked.startsWith("/.well-known/")) return { json: { issuer: origin, token_endpoint: origin + path } };
    return asked === path ? { json: { access_token: path, token_type: "Bearer", expires_in: 9_000 } } : { status: 404 };
  });
  const resource = await guarded({ document: { authorization_servers: [away.origin] } });
  const mine = anAgent({ issuer: away.origin });
  const called = () => outcomeOf(mine.fetch(`${resource.origin}/api`));
  expect(await called()).toBe(200);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 3_601_000 });
  onTestFinished(() => void vi.useRealTimers());
  isAway = true;
  expect(await Promise.all([called(), called()])).toEqual([200, 200]);
  [isAway, path] = [false, "/moved"];
  vi.setSystemTime(Date.now() + 9_000_000);
  await vi.waitFor(async () => expect((await mine.own({ resource: away.origin, scope: "y" }).token()).value).toBe("/moved"));
});

test("OAuth 2.1 §4.1.3: a callback that the browser loads again does not redeem its code again, unless that failed", async () => {
  const redeemed: (string | null)[] = [];
  let isBusy = true;
  const once = await serving(({ path, body }, origin) => {
    const endpoints = { authorization_endpoint: `${origin}/authorize`, token_endpoint: `${origin}/token` };
    if (path.startsWith("/.well-known/")) return { json: { issuer: origin, ...endpoints } };
    redeemed.push(new URLSearchParams(body).get("code"));
    return isBusy ? { status: 503 } : { json: { access_token: `token ${redeemed.length}`, token_type: "Bearer", expires_in: 900 } };
  });
  const resource = await guarded({ document: { authorization_servers: [once.origin] } });
  const app = anAgent({ issuer: once.origin, credential: publicClient() });
  const { url, finish } = await app.signIn({ resource: `${resource.origin}/api`, redirectUri: "http://127.0.0.1/cb" });
  const callback = (code: string) => `/cb?code=${code}&state=${new URL(url).searchParams.get("state")}`;
  await expect(finish(callback("c"))).rejects.toMatchObject({ code: "server_unreachable" });
  isBusy = false;
  const accesses = [...(await Promise.all([finish(callback("c")), finish(callback("c"))])), await finish(callback("c"))];
  expect(await Promise.all(accesses.map(async (access) => (await access.token()).value))).toEqual(["token 2", "token 2", "token 2"]);
  expect(redeemed).toEqual(["c", "c"]);
});

test.for(["javascript:alert(1)", "file:///usr/bin/true", "http://elsewhere.example/authorize", "https://user@as.example/authorize"])(
  "no user is sent to %s to sign in",
  async (address) => {
    const astray = await serving((_request, origin) => ({
      json: { issuer: origin, authorization_endpoint: address, token_endpoint: `${origin}/token` },
    }));
    const app = anAgent({ issuer: astray.origin, credential: publicClient() });
    const starting = app.signIn({ resource: `${astray.origin}/api`, redirectUri: "http://127.0.0.1/cb" });
    await expect(starting).rejects.toMatchObject({ code: "invalid_response" });
  },
);

test("the token of a sign-in that expired before its first use is renewed", async () => {
  const resource = await guarded();
  const app = anAgent({ credential: publicClient() });
  const { url, finish } = await app.signIn({ resource: `${resource.origin}/api`, redirectUri: "http://127.0.0.1/cb" });
  const access = await finish(`http://127.0.0.1/cb?code=c&state=${new URL(url).searchParams.get("state")}`);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 901_000 });
  onTestFinished(() => void vi.useRealTimers());
  expect([(await access.token()).value, (await access.token()).value]).toEqual(["token 2", "token 2"]);
});

test("RFC 6749 §6: a sign-in that was granted less than it asked for is renewed without the rest", async () => {
  const lessening = await serving(({ path, body }, origin) => {
    const endpoints = { authorization_endpoint: `${origin}/authorize`, token_endpoint: `${origin}/token` };
    if (path.startsWith("/.well-known/oauth-authorization-server")) return { json: { issuer: origin, ...endpoints } };
    if (path.startsWith("/.well-known/")) return { status: 404 };
    if (new URLSearchParams(body).get("scope")?.includes("y")) return { status: 400, json: { error: "invalid_scope" } };
    return { json: { access_token: "token", token_type: "Bearer", expires_in: 900, scope: "x", refresh_token: "refresh" } };
  });
  const resource = await guarded({ document: { authorization_servers: [lessening.origin] }, answer: () => REFUSED });
  const app = anAgent({ issuer: lessening.origin, credential: publicClient() });
  const { url, finish } = await app.signIn({ resource: `${resource.origin}/api`, scope: "x y", redirectUri: "http://127.0.0.1/cb" });
  const access = await finish(`http://127.0.0.1/cb?code=c&state=${new URL(url).searchParams.get("state")}`);
  expect(await outcomeOf(access.fetch(`${resource.origin}/api`))).toBe(401); // the answer of the resource server to the renewed token
});

test("RFC 9207 §2.4: a response without iss is refused where the authorization server says that it sends one", async () => {
  const careful = await serving(({ path }, origin) => {
    if (!path.startsWith("/.well-known/oauth-authorization-server")) return { status: 404 };
    const endpoints = { authorization_endpoint: `${origin}/authorize`, token_endpoint: `${origin}/token` };
    return { json: { issuer: origin, ...endpoints, authorization_response_iss_parameter_supported: true } };
  });
  const app = anAgent({ issuer: careful.origin, credential: publicClient() });
  const { url, finish } = await app.signIn({ resource: `${careful.origin}/api`, redirectUri: "http://127.0.0.1/cb" });
  const state = new URL(url).searchParams.get("state");
  for (const response of ["code=c", "error=access_denied"])
    await expect(finish(`http://127.0.0.1/cb?${response}&state=${state}`)).rejects.toMatchObject({ code: "sign_in_invalid" });
  expect(careful.received.map(({ path }) => path)).not.toContain("/token");
});

test("a named resource without a metadata document gets bound tokens once it has asked for proofs, and is looked up once", async () => {
  const resource = await serving(({ path, authorization = "" }) => {
    if (path.startsWith("/.well-known/")) return { status: 404 };
    return authorization.startsWith("DPoP ") ? {} : { status: 401, headers: { "www-authenticate": 'DPoP algs="ES256"' } };
  });
  const access = anAgent().own({ resource: resource.origin, scope: "x" });
  expect([(await access.fetch(`${resource.origin}/a`)).status, (await access.fetch(`${resource.origin}/b`)).status]).toEqual([200, 200]);
  expect(resource.received.map(({ path, authorization = "" }) => [path, authorization])).toEqual([
    ["/.well-known/oauth-protected-resource", ""],
    ["/a", "Bearer token 1"],
    ["/a", "DPoP token 2"],
    ["/b", "DPoP token 2"],
  ]);
});

test("a named resource whose metadata document cannot be read any more still gets bound tokens", async () => {
  let isAway = false;
  const resource = await serving(({ path }, origin) => {
    if (!path.startsWith("/.well-known/")) return {};
    if (isAway) return { status: 503 };
    return { json: { resource: origin, authorization_servers: [issuer.origin], dpop_signing_alg_values_supported: ["ES256"] } };
  });
  const access = anAgent().own({ resource: resource.origin, scope: "x" });
  const scheme = async () => (await access.token()).scheme;
  expect(await scheme()).toBe("DPoP");
  isAway = true;
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 3_601_000 });
  onTestFinished(() => void vi.useRealTimers());
  expect(await scheme()).toBe("DPoP");
});

test("an agent's own tokens for a named resource have the scope that its challenge asks for, unless the caller names one", async () => {
  const resource = await guarded();
  const named = { resource: `${resource.origin}/api` };
  const scopes = () => issuer.received.splice(0).flatMap(({ body }) => (body === "" ? [] : [new URLSearchParams(body).get("scope")]));
  const own = anAgent().own(named);
  expect(await Promise.all([own.fetch(named.resource), own.fetch(`${named.resource}/a`)].map(outcomeOf))).toEqual([200, 200]);
  expect([await outcomeOf(own.fetch(named.resource)), scopes()]).toEqual([200, ["x"]]);
  expect([
    await outcomeOf(
      anAgent()
        .own({ ...named, scope: "y" })
        .fetch(named.resource),
    ),
    scopes(),
  ]).toEqual([200, ["y"]]);
  expect([await outcomeOf(anAgent().onBehalfOf("a.b.c").fetch(named.resource)), scopes()]).toEqual([200, ["x"]]);
});

test("an agent's own tokens for a resource whose challenge names no scope are asked for without one", async () => {
  const resource = await guarded({ challenge: "Bearer" });
  const own = anAgent().own({ resource: `${resource.origin}/api` });
  for (let request = 1; request <= 2; request++) expect(await outcomeOf(own.fetch(`${resource.origin}/api`))).toBe(200);
  expect(resource.received.filter(({ path, authorization }) => path === "/api" && authorization === undefined)).toHaveLength(1);
  const grants = issuer.received.filter(({ body }) => body !== "");
  expect(grants.map(({ body }) => new URLSearchParams(body).has("scope"))).toEqual([false]);
});

test("scopes that the authorization server refuses, or no longer grants, do not keep other requests from a token", async () => {
  let grantsAdmin = false;
  let issuedLast = "";
  const strict = await serving(({ path, body }, origin) => {
    if (path.startsWith("/.well-known/")) return { json: { issuer: origin, token_endpoint: `${origin}/token` } };
    const scope = new URLSearchParams(body).get("scope");
    if (scope?.includes("admin") && !grantsAdmin) return { status: 400, json: { error: "invalid_scope" } };
    issuedLast = `${scope?.replaceAll(" ", "+")}-${grantsAdmin}`;
    return { json: { access_token: issuedLast, token_type: "Bearer", expires_in: 900 } };
  });
  const resource = await serving(({ path, authorization }, origin) => {
    if (path.startsWith("/.well-known/")) return { json: { resource: `${origin}/api`, authorization_servers: [strict.origin] } };
    const needed = path === "/api/admin" ? "admin" : "read";
    const answer = (status: number, error: string) => {
      const metadata = `resource_metadata="${origin}/.well-known/oauth-protected-resource/api"`;
      return { status, headers: { "www-authenticate": `Bearer ${error}scope="${needed}", ${metadata}` } };
    };
    if (authorization === undefined) return answer(401, "");
    if (!authorization.endsWith(`-${grantsAdmin}`)) return answer(401, 'error="invalid_token", ');
    return authorization.includes(needed) ? {} : answer(403, 'error="insufficient_scope", ');
  });
  const outcomesOf = async (mine: Agent, ...paths: string[]) => {
    const outcomes = [];
    for (const path of paths) outcomes.push(await outcomeOf(mine.fetch(resource.origin + path)));
    return outcomes;
  };
  const mine = anAgent({ issuer: strict.origin });
  expect(await outcomesOf(mine, "/api", "/api/admin", "/api")).toEqual([200, "invalid_scope", 200]);
  expect(await outcomesOf(anAgent({ issuer: strict.origin }), "/api/admin", "/api")).toEqual(["invalid_scope", 200]);
  grantsAdmin = true;
  expect(await outcomesOf(mine, "/api/admin", "/api")).toEqual([200, 200]);
  expect(issuedLast).toBe("admin+read-true");
  grantsAdmin = false;
  expect(await outcomesOf(mine, "/api", "/api")).toEqual(["invalid_scope", 200]);
});

test("a challenge whose body breaks off is answered with a token like any other", async () => {
  const resource = await guarded();
  const breakingOff: typeof fetch = async (...request) => {
    const response = await fetch(...request);
    if (response.status !== 401) return response;
    const body = new ReadableStream({ start: (controller) => controller.error(new TypeError("terminated")) });
    return new Response(body, { status: 401, headers: response.headers });
  };
  expect((await anAgent({ fetch: breakingOff }).fetch(`${resource.origin}/api`)).status).toBe(200);
});

test("a resource within a known one gets a token of its own", async () => {
  const tokens = new Map<string, string | null>();
  const host = await serving(({ path, authorization = "" }, origin) => {
    const inner = path.includes("/mcp");
    const document = `/.well-known/oauth-protected-resource${inner ? "/mcp" : ""}`;
    const resource = inner ? `${origin}/mcp` : origin;
    if (path.startsWith("/.well-known/")) return { json: { resource, authorization_servers: [issuer.origin] } };
    const asked = new URLSearchParams(issuer.received.findLast(({ path: at }) => at === "/token")?.body).get("resource");
    if (authorization !== "" && !tokens.has(authorization)) tokens.set(authorization, asked);
    if (tokens.get(authorization) === resource) return {};
    const error = authorization === "" ? "" : 'error="invalid_token", ';
    return { status: 401, headers: { "www-authenticate": `Bearer ${error}scope="x", resource_metadata="${origin}${document}"` } };
  });
  const mine = anAgent();
  const outcomes = [];
  for (const path of ["/", "/mcp", "/mcp", "/"]) outcomes.push(await outcomeOf(mine.fetch(host.origin + path)));
  expect([outcomes, issued]).toEqual([[200, 200, 200, 200], 2]);
});

test("the key cannot be exported, is one for each agent, and may be the caller's own", async () => {
  const proofKey = await generateProofKey();
  await expect(crypto.subtle.exportKey("jwk", proofKey.privateKey)).rejects.toThrow();
  const resource = await guarded();
  const thumbprint = async (options: Partial<AgentOptions>) => {
    const { url } = await anAgent({ dpop: "required", ...options }).signIn({
      resource: `${resource.origin}/api`,
      redirectUri: "http://127.0.0.1/cb",
    });
    return new URL(url).searchParams.get("dpop_jkt");
  };
  const [one, same, other] = await Promise.all([thumbprint({ proofKey }), thumbprint({ proofKey }), thumbprint({})]);
  const jwk = await calculateJwkThumbprint((await crypto.subtle.exportKey("jwk", proofKey.publicKey)) as JWK);
  expect([one, same, other === one]).toEqual([jwk, jwk, false]);
});

test.for([
  ["line\nbreak", "Bearer"],
  ["", "Bearer"],
  ["secret", "constructor"],
])("a response with the token %j of the type %s is an invalid_response that does not show it", async ([access_token, token_type]) => {
  const server = await serving(({ path }, origin) =>
    path === "/token" ? { json: { access_token, token_type } } : { json: { issuer: origin, token_endpoint: `${origin}/token` } },
  );
  const refused = agent({ issuer: server.origin, clientId: "a", credential: clientSecret("s") }).own({ scope: "x" });
  const error: unknown = await refused.token().catch((cause: unknown) => cause);
  expect(error).toMatchObject({ name: "AgentError", code: "invalid_response" });
  expect(String(error)).not.toMatch(/break|secret/);
});

test("a resource server that answers 5xx for its metadata is away, and not one without metadata", async () => {
  const { origin } = await serving(({ path }) =>
    path.startsWith("/.well-known/") ? { status: 502 } : { status: 401, headers: { "www-authenticate": "Bearer" } },
  );
  await expect(anAgent().fetch(`${origin}/mcp`)).rejects.toMatchObject({
    code: "server_unreachable",
    status: 502,
    message: `${origin}/mcp cannot show its metadata now: it answered 502`,
  });
});

test("an authorization server whose proxy answers 5xx for a token is away, and one that answers something else is not", async () => {
  const token = async (status: number) => {
    const { origin } = await serving(({ path }, at) =>
      path === "/token" ? { status } : { json: { issuer: at, token_endpoint: `${at}/token` } },
    );
    return agent({ issuer: origin, clientId: "a", credential: publicClient() }).own({ scope: "x" }).token();
  };
  await expect(token(503)).rejects.toMatchObject({ code: "server_unreachable", status: 503 });
  await expect(token(403)).rejects.toMatchObject({ code: "invalid_response", status: 403 });
});

test.for([
  ["7", 7],
  [new Date(Date.now() + 60_000).toUTCString(), expect.any(Number)],
  ["soon", undefined],
  [undefined, undefined],
] as const)("the error says when an authorization server that has no time wants to be asked again: %s", async ([header, seconds]) => {
  const headers: Record<string, string> = header === undefined ? {} : { "retry-after": header };
  const token = async (answer: SmallAnswer) => {
    const { origin } = await serving(({ path }, at) =>
      path === "/token" ? { ...answer, headers } : { json: { issuer: at, token_endpoint: `${at}/token` } },
    );
    return agent({ issuer: origin, clientId: "a", credential: publicClient() }).own({ scope: "x" }).token();
  };
  const limited = { code: "too_many_requests", status: 429, retryAfter: seconds };
  await expect(token({ status: 429, json: { error: "too_many_requests" } })).rejects.toMatchObject(limited);
  await expect(token({ status: 503 })).rejects.toMatchObject({ code: "server_unreachable", status: 503, retryAfter: seconds });
});

test("a request that cannot be sent is a TypeError, and no server that does not answer", async () => {
  const { origin } = await serving(() => ({ status: 404 }));
  const sent = (init: RequestInit) => anAgent().fetch(origin, init);
  await expect(sent({ body: "with GET" })).rejects.toThrow(TypeError);
  await expect(sent({ method: "POST", body: new Blob(["no duplex"]).stream() })).rejects.toThrow(TypeError);
  await expect(sent({ method: "TRACE" })).rejects.toThrow(TypeError);
  const unreachable = (init: RequestInit) => anAgent().fetch("http://127.0.0.1:1", init);
  await expect(unreachable({ method: "POST", body: "a body" })).rejects.toMatchObject({ code: "server_unreachable" });
  const stream = { method: "POST", body: new Blob(["a body"]).stream(), duplex: "half" } as RequestInit;
  await expect(unreachable(stream)).rejects.toMatchObject({ code: "server_unreachable" });
});

test("an authorization server that is none of the agent's, or none at all, is named", async () => {
  const stranger = await serving(() => ({ json: { issuer: OTHER, token_endpoint: `${OTHER}/token` } }));
  const silent = await serving(() => ({ status: 404 }));
  const token = (url: string) => agent({ issuer: url, clientId: "a", credential: publicClient() }).own({ scope: "x" }).token();
  await expect(token(stranger.origin)).rejects.toMatchObject({ code: "wrong_issuer", message: expect.stringContaining(OTHER) });
  await expect(token(silent.origin)).rejects.toMatchObject({ code: "invalid_response" });
  await expect(token(`${silent.origin}/realm`)).rejects.toThrow("has no metadata document: it answered 404");
  const overloaded = await serving(() => ({ status: 503 }));
  await expect(token(overloaded.origin)).rejects.toMatchObject({
    code: "server_unreachable",
    status: 503,
    message: `${overloaded.origin} cannot show its metadata now: it answered 503`,
  });
  expect(silent.received.map(({ path }) => path).slice(-2)).toEqual([
    "/.well-known/oauth-authorization-server/realm",
    "/realm/.well-known/openid-configuration",
  ]);
});
