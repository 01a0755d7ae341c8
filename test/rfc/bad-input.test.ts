import { expect } from "vitest";
import { basicAuth } from "../support/flow.ts";
import { type RawAnswer, type RawRequest, rawBytes, rawExchange } from "../support/raw.ts";
import { describe, type TestServer, test } from "../support/server.ts";

type Shape = "oauth" | "api" | "resend" | "page" | "connect";
interface Endpoint {
  readonly path: string;
  readonly method: "GET" | "POST" | "DELETE";
  readonly shape: Shape;
  readonly media?: string;
  /** A well-formed body. */
  readonly good?: string;
}

const FORM = "application/x-www-form-urlencoded";
const JSON_TYPE = "application/json";
const form = (path: string, shape: Shape, good: string): Endpoint => ({ path, method: "POST", shape, media: FORM, good });
const json = (path: string, shape: Shape, good: object): Endpoint => ({
  path,
  method: "POST",
  shape,
  media: JSON_TYPE,
  good: JSON.stringify(good),
});
const get = (path: string, shape: Shape): Endpoint => ({ path, method: "GET", shape });

const HEX = "a".repeat(64);
const FORMS: readonly Endpoint[] = [
  form("/oauth/token", "oauth", `grant_type=refresh_token&refresh_token=${HEX}`),
  form("/oauth/introspect", "oauth", "token=x"),
  form("/oauth/revoke", "oauth", "token=x"),
  form("/oauth/authorize", "oauth", "response_type=code&client_id=web"),
  form("/login", "page", "form_token=x&email=a%40example.test&password=x"),
  form("/signup", "page", "form_token=x&email=a%40example.test&password=x"),
  form("/signup/resend", "page", "form_token=x&email=a%40example.test"),
  form("/consent", "page", "form_token=x&decision=approve&request=x"),
  form("/logout", "page", "form_token=x"),
  form("/account/revoke", "page", "form_token=x&consent=x"),
  form("/account/resend", "page", "form_token=x"),
  form("/account/profile", "page", "form_token=x&firstName=x"),
  form("/account/security/password", "page", "form_token=x&password=x"),
  form("/account/security/sessions/end", "page", "form_token=x&session=x"),
  form("/account/security/sessions/end-others", "page", "form_token=x"),
  form("/account/agents/end", "page", "form_token=x&agent=x"),
  form("/account/agents/pause", "page", "form_token=x&agent=x"),
  form("/account/agents/resume", "page", "form_token=x&agent=x"),
  form("/account/delete", "page", "form_token=x"),
  form("/forgot", "page", "form_token=x&email=a%40example.test"),
  form("/reset", "page", `form_token=x&token=${HEX}&password=x`),
];
const INTROSPECTION = "/countersign.introspection.v1.IntrospectionService";
const JSONS: readonly Endpoint[] = [
  json("/oauth/register", "oauth", { redirect_uris: ["https://a.example.test/cb"] }),
  json("/auth/register", "api", { email: "a@example.test", password: "x" }),
  json("/auth/login", "api", { email: "a@example.test", password: "x" }),
  json("/auth/resend-verification", "resend", { email: "a@example.test" }),
  json("/auth/forgot-password", "api", { email: "a@example.test" }),
  json("/auth/reset-password", "api", { token: HEX, password: "x" }),
  json(`${INTROSPECTION}/Introspect`, "connect", { token: "x" }),
  json(`${INTROSPECTION}/IntrospectBatch`, "connect", { requests: [{ token: "x" }] }),
];
const BARE: readonly Endpoint[] = [
  { path: "/auth/logout", method: "POST", shape: "api" },
  { path: "/oauth/userinfo", method: "POST", shape: "oauth" },
  { path: "/consents/x", method: "DELETE", shape: "api" },
];
const GETS: readonly Endpoint[] = [
  ...["/", "/health", "/health/live", "/metrics", "/docs", "/openapi.json", "/auth/verify", "/consents", "/consents/"],
  ...["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration", "/.well-known/jwks.json"],
]
  .map((path) => get(path, "api"))
  .concat(
    ["/oauth/authorize", "/oauth/userinfo"].map((path) => get(path, "oauth")),
    [
      "/login",
      "/signup",
      "/consent",
      "/logout",
      "/account",
      "/account/agents",
      "/account/security",
      "/account/security/password",
      "/account/delete",
      "/account/deleted",
      "/forgot",
      "/reset",
    ].map((path) => get(path, "page")),
  );
const ALL = [...FORMS, ...JSONS, ...BARE, ...GETS];

const CREDENTIAL = ["Authorization", basicAuth("web", "web-secret")] as const;

/** Expects a refusal in the error format of the endpoint. Connect refuses some requests without a body. */
function assertShape({ status, headers, text }: RawAnswer, shape: Shape): void {
  if (shape === "page") {
    expect(headers.get("content-type")).toContain("text/html");
    expect(headers.get("content-security-policy")).toContain("default-src 'none'");
    return;
  }
  if (shape === "connect" && headers.get("content-type") === null) {
    expect([400, 404, 405, 413, 415]).toContain(status);
    return;
  }
  expect(headers.get("content-type")).toContain("application/json");
  const body = JSON.parse(text);
  if (shape === "connect") {
    expect(body.code).toMatch(/^[a-z_]+$/);
    return;
  }
  if (shape === "oauth") {
    expect(headers.get("cache-control")).toBe("no-store");
    expect(body.error).toMatch(/^[a-z_]+$/);
    for (const name of Object.keys(body)) expect(["error", "error_description"]).toContain(name);
    return;
  }
  expect(body.statusCode).toBe(status);
  expect(typeof body.error).toBe("string");
  if (shape === "api" || status !== 429) expect(typeof body.message).toBe("string");
}

/** Expects one of the statuses `among`, in the error format of the endpoint. */
async function assertRefused(server: TestServer, endpoint: Endpoint, request: Partial<RawRequest>, among: readonly number[]) {
  const { path, method, media, shape } = endpoint;
  const { headers = [], ...rest } = request;
  const typed = headers.some(([name]) => name.toLowerCase() === "content-type") || media === undefined;
  const all = [...(typed ? [] : [["Content-Type", media] as const]), CREDENTIAL, ...headers];
  const answer = await rawExchange(server.url, { method, target: path, headers: all, ...rest });
  expect([path, among.includes(answer.status), answer.status]).toEqual([path, true, answer.status]);
  assertShape(answer, shape);
}

const OTHERS = ["text/plain", "multipart/form-data; boundary=x", "application/xml", "", `${FORM}x`];
const many = (parameter: (index: number) => string, count: number): string =>
  Array.from({ length: count }, (_, index) => parameter(index)).join("&");

describe("abuse 67, 68, 69, 70: a malformed form returns 4xx in the error format of the endpoint", () => {
  test.for(FORMS)("$path", async (endpoint, { server }) => {
    const good = endpoint.good ?? "";
    for (const media of [...OTHERS, JSON_TYPE, `${FORM}, ${JSON_TYPE}`]) {
      await assertRefused(server, endpoint, { headers: [["Content-Type", media]], body: good }, [400, 415]);
    }
    const twice = [
      ["Content-Type", FORM],
      ["Content-Type", JSON_TYPE],
    ] as const;
    await assertRefused(server, endpoint, { headers: twice, body: good }, [400, 415]);
    const [first = ""] = good.split("&");
    const malformed = [
      `${good}&x=%zz`,
      `${good}&%=1`,
      `${good}&x=%00`,
      `${good}&x=\0`,
      `${good}&x=%ff`,
      `${good}&x=%ed%a0%80`,
      Buffer.concat([Buffer.from(`${good}&x=`), Buffer.from([0xff])]),
      `${good}&${first}`,
      `${many((index) => `p${index}=`, 1200)}&${good}`,
      many(() => "a=1", 1200),
    ];
    for (const body of malformed) await assertRefused(server, endpoint, { body }, [400]);
    // RP-Initiated Logout §2: every parameter is optional; without any, the user is asked to confirm.
    if (endpoint.path !== "/logout") await assertRefused(server, endpoint, { body: "" }, [400, 401, 403]);
    await assertRefused(server, endpoint, { body: `${good}&x=${"a".repeat(65_536 - good.length - 2)}` }, [400, 413]);
    for (const coding of ["gzip", "identity, gzip", "br", "x"]) {
      await assertRefused(server, endpoint, { headers: [["Content-Encoding", coding]], body: good }, [400, 415]);
    }
  });
});

const deep = (levels: number): string => `${"[".repeat(levels)}${"]".repeat(levels)}`;

describe("malformed JSON returns 4xx in the error format of the endpoint", () => {
  test.for(JSONS)("$path", async (endpoint, { server }) => {
    const good = endpoint.good ?? "";
    for (const media of [...OTHERS, FORM, `${JSON_TYPE}, ${FORM}`]) {
      await assertRefused(server, endpoint, { headers: [["Content-Type", media]], body: good }, [400, 415]);
    }
    const twice = [
      ["Content-Type", JSON_TYPE],
      ["Content-Type", "text/plain"],
    ] as const;
    await assertRefused(server, endpoint, { headers: twice, body: good }, [400, 415]);
    const inside = good.slice(1, -1);
    const malformed = ["{", "nul", '"', "[]", "1", '"x"', "true", "null", `${good}${good}`, deep(9), deep(30_000), `{${inside},"x":\0}`];
    // Protobuf JSON skips unknown members unread, because a later release may send them.
    const unstorable = [
      `\ufeff${good}`,
      `{${inside},"x":${'{"x":'.repeat(2000)}1${"}".repeat(2000)}}`,
      `{${inside},"x\\u0000":1}`,
      Buffer.concat([Buffer.from(good.slice(0, -1)), Buffer.from(',"x":"'), Buffer.from([0xff]), Buffer.from('"}')]),
    ];
    for (const body of endpoint.shape === "connect" ? malformed : [...malformed, ...unstorable]) {
      await assertRefused(server, endpoint, { body }, [400, 413]);
    }
    await assertRefused(server, endpoint, { body: "" }, [400]);
    // Connect reports a message that is too large as resource_exhausted, which is 429 on HTTP.
    await assertRefused(
      server,
      endpoint,
      { body: `{${inside},"x":"${"a".repeat(1_200_000)}"}` },
      endpoint.shape === "connect" ? [429] : [400, 413],
    );
    for (const coding of ["gzip", "br", "x"]) {
      await assertRefused(server, endpoint, { headers: [["Content-Encoding", coding]], body: good }, [400, 415]);
    }
  });

  test.for(JSONS.filter(({ path }) => path.startsWith("/auth/")))(
    "$path rejects unknown members and email values of other types",
    async (endpoint, { server }) => {
      for (const extra of ['"role":"operator"', '"__proto__":{"role":"operator"}', '"constructor":1', '"emailVerified":true']) {
        await assertRefused(server, endpoint, { body: `{${(endpoint.good ?? "").slice(1, -1)},${extra}}` }, [400]);
      }
      for (const email of ['["a@example.test"]', "null", "{}", "1", '"\\ud800@example.test"', '"a\\u0000@example.test"']) {
        await assertRefused(server, endpoint, { body: `{"email":${email},"password":"x"}` }, [400]);
      }
    },
  );
});

// Beside each other: refused sign-ins wait.
describe("hostile requests", { concurrent: true }, () => {
  const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "PROPFIND", "TRACE", "QUERY"];
  test.for(ALL)(
    "$method $path returns 405 for other methods and no 5xx for malformed queries and headers",
    async (endpoint, { server }) => {
      const served = new Set(
        ALL.filter(({ path }) => path === endpoint.path).flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method])),
      );
      for (const method of METHODS.filter((each) => !served.has(each))) {
        const answer = await rawExchange(server.url, { method, target: endpoint.path });
        expect([method, endpoint.path, answer.status]).toEqual([method, endpoint.path, 405]);
        assertShape(answer, endpoint.shape);
      }
      const { path, method, media, good } = endpoint;
      const body = good === undefined ? {} : { body: good };
      const type = media === undefined ? [] : [["Content-Type", media] as const];
      const queries = ["%zz=%", "%00=%00", "%ff", many((index) => `p${index}`, 1200), `a=${"b".repeat(8000)}`, "?&&==&", "__proto__=1"];
      for (const query of queries) await unharmed(server, { method, target: `${path}?${query}`, headers: [...type, CREDENTIAL], ...body });
      const authorizations = ["", "Basic", "Basic !!!", "Basic bm9jb2xvbg==", "Basic Og==", "Basic /w==", "Bearer", "Bearer a b"];
      for (const value of [...authorizations, `Bearer ${"a".repeat(9000)}`, "Bearer a.b.c", "Digest x", "\u00ff", "Basic YTpi, Bearer x"]) {
        await unharmed(server, { method, target: path, headers: [...type, ["Authorization", value]], ...body });
      }
      const twice = await rawExchange(server.url, { method, target: path, headers: [...type, CREDENTIAL, CREDENTIAL], ...body });
      expect([path, twice.status >= 400 && twice.status < 500, twice.status]).toEqual([path, true, twice.status]);
      const odd = [
        ["Cookie", "countersign=\u0080; countersign-visitor=%zz; =; ;;"],
        ["Accept", "*/*;q=x, ,,/"],
        ["If-None-Match", '"'],
        ["Origin", "null"],
        ["X-Forwarded-For", "not an address"],
        ["Expect", "100-continue"],
      ] as const;
      for (const header of odd) await unharmed(server, { method, target: path, headers: [...type, CREDENTIAL, header], ...body });
      await unharmed(server, { method, target: `http://evil.test${path}`, headers: [...type, CREDENTIAL], ...body });
      const huge = await rawExchange(server.url, { method, target: path, headers: [["X-Huge", "a".repeat(20_000)]] });
      expect(huge.status).toBe(431);
    },
  );

  test.for([
    "/oauth/%2e%2e/oauth/token",
    "/oauth/..;/oauth/token",
    "//oauth/token",
    "/oauth/token/",
    "/OAUTH/TOKEN",
    "/oauth%2ftoken",
    "/%",
    "/%00",
    "/%ff",
    `/${"a/".repeat(3000)}`,
    "/consents/%2e%2e",
    "/consents/%zz",
    "/constructor",
    "/__proto__",
    "/api/clients/",
  ])("%s returns 4xx", async (target, { server }) => {
    for (const method of ["GET", "POST", "DELETE"]) {
      const answer = await rawExchange(server.url, {
        method,
        target,
        headers: [["Content-Type", FORM]],
        body: "grant_type=client_credentials",
      });
      expect([method, [400, 401, 404, 405].includes(answer.status), answer.status]).toEqual([method, true, answer.status]);
      assertShape(answer, "api");
    }
  });

  test("malformed or truncated HTTP returns no 5xx", async ({ server }) => {
    const host = `Host: x\r\nContent-Type: ${FORM}\r\n`;
    const broken = [
      "\0\0\0\0\r\n\r\n",
      "GET / HTTP/9.9\r\n\r\n",
      "GET /\r\n\r\n",
      "FROB / HTTP/1.1\r\nHost: x\r\n\r\n",
      "GET / HTTP/1.1\r\n\r\n",
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
      "OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
      "CONNECT evil.test:443 HTTP/1.1\r\nHost: x\r\n\r\n",
      `POST /oauth/token HTTP/1.1\r\n${host}Content-Length: 100\r\n\r\ngrant_type=`,
      `POST /oauth/token HTTP/1.1\r\n${host}Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd`,
      `POST /oauth/token HTTP/1.1\r\n${host}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      `POST /oauth/token HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\nzz\r\n`,
      `POST /oauth/token HTTP/1.1\r\n${host}Transfer-Encoding: gzip\r\n\r\n`,
      "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    ];
    for (const bytes of broken) {
      const answer = await rawBytes(server.url, Buffer.from(bytes, "latin1"), true);
      expect(answer).not.toMatch(/^HTTP\/1\.1 5/);
    }
  });
});

test("the server stays healthy, logs no fault, and no name that was sent appears in the metrics", async ({ server }) => {
  expect(server.faults()).toEqual([]);
  expect((await server.get("/health")).body.status).toBe("ok");
  expect((await server.token(server.clients.worker, { grant_type: "client_credentials", scope: "notes:read" })).status).toBe(200);
  expect((await server.get("/metrics")).body).not.toMatch(/PROPFIND|evil|constructor|__proto__/);
});

/** Expects any status below 500. */
async function unharmed(server: TestServer, request: RawRequest): Promise<void> {
  const { status } = await rawExchange(server.url, request);
  expect([request.target.slice(0, 60), status >= 200 && status < 500, status]).toEqual([request.target.slice(0, 60), true, status]);
}
