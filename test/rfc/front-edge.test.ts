import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Refusal } from "../../src/errors.ts";
import { apiErrorPrinter, oauthErrorPrinter, sendJson } from "../../src/front/http/answers.ts";
import { formBody, jsonBody } from "../../src/front/http/body.ts";
import { clientAddress } from "../../src/front/http/caller.ts";
import type { Route } from "../../src/front/http/routes.ts";
import { ISSUER, postForm, rawRequest, startFront, type TestFront } from "../support/front.ts";

let release: () => void = () => {};
const held = new Promise<void>((resolve) => {
  release = resolve;
});

const api = apiErrorPrinter(ISSUER);
const oauth = oauthErrorPrinter(ISSUER);
const routes: readonly Route[] = [
  {
    method: "POST",
    path: "/form",
    hot: true,
    cors: true,
    print: oauth,
    answer: async (ctx) => sendJson(ctx, { a: (await formBody(ctx)).get("a"), address: ctx.state.address }),
  },
  { method: "GET", path: "/json", print: api, answer: (ctx) => sendJson(ctx, {}) },
  { method: "POST", path: "/json", print: api, answer: async (ctx) => sendJson(ctx, { got: await jsonBody(ctx, 1000) }) },
  {
    method: "GET",
    path: "/fault",
    print: oauth,
    answer: () => {
      throw new Error("secret detail");
    },
  },
  { method: "GET", path: "/held", print: api, answer: () => held },
  { method: "GET", path: "/essential", essential: true, print: api, answer: (ctx) => sendJson(ctx, {}) },
  {
    method: "GET",
    path: "/things/:id",
    print: api,
    answer: (ctx) => {
      if (ctx.params.id === "none") throw new Refusal("not_found", "no_thing");
      sendJson(ctx, { id: ctx.params.id });
    },
  },
  { method: "POST", path: "/things/new", print: api, answer: (ctx) => sendJson(ctx, { made: true }) },
];

let front: TestFront;
let withoutHot: TestFront;
beforeAll(async () => {
  front = await startFront({ routes, cap: 2, deadline: 400, addressOf: (req) => clientAddress(req, true) });
  withoutHot = await startFront({ routes, hot: false });
});
afterAll(async () => {
  release();
  await Promise.all([front.close(), withoutHot.close()]);
});

const failure = async (response: Response) => [response.status, await response.json()];

describe.for([
  ["read directly", () => front],
  ["read by koa-body", () => withoutHot],
] as const)("form bodies %s", ([, of]) => {
  test("a valid form is parsed, and the response is not cacheable", async () => {
    const response = await postForm(`${of().url}/form`, { a: "ä b" });
    expect(await response.json()).toMatchObject({ a: "ä b" });
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("pragma")).toBe("no-cache");
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    expect(response.headers.get("x-request-id")).toMatch(/^r\d+$/);
  });

  test.for([
    ["application/json", 400],
    ["multipart/form-data; boundary=x", 400],
    ["text/plain", 400],
    ["application/x-www-form-urlencoded, text/plain", 400],
  ] as const)("media type %s returns %i", async ([type, status]) => {
    const response = await fetch(`${of().url}/form`, { method: "POST", body: "a=1", headers: { "content-type": type } });
    expect(await failure(response)).toMatchObject([status, { error: "invalid_request" }]);
  });

  test("a content coding other than identity returns 415", async () => {
    expect(await failure(await postForm(`${of().url}/form`, "a=1", { "content-encoding": "gzip" }))).toMatchObject([
      415,
      { error: "invalid_request" },
    ]);
    for (const identity of ["identity", "Identity"])
      expect((await postForm(`${of().url}/form`, "a=1", { "content-encoding": identity })).status).toBe(200);
  });

  test("64 KiB are accepted, one byte more returns 413 and closes the connection", async () => {
    expect((await postForm(`${of().url}/form`, `a=${"x".repeat(65_534)}`)).status).toBe(200);
    const response = await postForm(`${of().url}/form`, `a=${"x".repeat(65_535)}`);
    expect(await failure(response)).toMatchObject([413, { error: "invalid_request" }]);
    expect(response.headers.get("connection")).toBe("close");
  });

  test("a chunked body over 64 KiB returns 413 and closes the connection", async () => {
    const chunk = `4000\r\n${"x".repeat(0x4000)}\r\n`;
    const head = "POST /form HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nTransfer-Encoding: chunked\r\n\r\n";
    const answer = await rawRequest(of().port, head + chunk.repeat(6));
    expect(answer).toMatch(/^HTTP\/1.1 413 /);
    expect(answer).toContain("Connection: close");
  });

  test.for([
    ["NUL", Buffer.from("a=\0")],
    ["invalid UTF-8", Buffer.from([0x61, 0x3d, 0xff])],
    ["encoded NUL", Buffer.from("a=%00")],
    ["1 200 parameters", Buffer.from(`${Array.from({ length: 1199 }, (_, i) => `p${i}=x`).join("&")}&a=1`)],
    ["a repeated parameter", Buffer.from("a=1&a=2")],
  ] as const)("%s returns 400 invalid_request", async ([, body]) => {
    const response = await fetch(`${of().url}/form`, {
      method: "POST",
      body,
      headers: { "content-type": "application/x-www-form-urlencoded" },
    });
    expect(await failure(response)).toMatchObject([400, { error: "invalid_request" }]);
  });
});

describe("JSON bodies", () => {
  const post = (body: string, type = "application/json") =>
    fetch(`${front.url}/json`, { method: "POST", body, headers: { "content-type": type } });

  test("a valid body is parsed, also with members such as __proto__", async () => {
    const text = '{"__proto__":{"x":1},"constructor":"y","a":[1,null,true]}';
    expect(await (await post(text, "Application/JSON; charset=utf-8")).text()).toBe(`{"got":${text}}`);
  });

  test.for([
    ["malformed JSON", "{", 400],
    ["an empty body", "", 400],
    ["NUL", '"\0"', 400],
    ["escaped NUL", '{"a":"\\u0000"}', 400],
    ["a lone surrogate", '{"a":"\\ud800"}', 400],
    ["NUL in a member name", '{"a\\u0000":1}', 400],
    ["nesting of nine levels", "[[[[[[[[[1]]]]]]]]]", 400],
    ["nesting of 400 levels", "[".repeat(400), 400],
    ["a body of 1 001 bytes", JSON.stringify("x".repeat(999)), 413],
  ] as const)("%s returns 4xx in the error format of the API", async ([, body, status]) => {
    expect(await failure(await post(body))).toMatchObject([
      status,
      { statusCode: status, error: expect.any(String), message: expect.any(String) },
    ]);
  });

  test("nesting of eight levels is accepted", async () => {
    expect((await post("[[[[[[[[1]]]]]]]]")).status).toBe(200);
  });

  test("another media type returns 415", async () => {
    expect(await failure(await post("{}", "text/plain"))).toMatchObject([415, { statusCode: 415, error: "Unsupported Media Type" }]);
  });
});

describe("paths and methods", () => {
  test("an unknown path returns 404 in the error format of the API", async () => {
    expect(await failure(await fetch(`${front.url}/nowhere`))).toEqual([
      404,
      { statusCode: 404, error: "Not Found", message: "Not Found." },
    ]);
  });

  test("another method returns 405 with Allow", async () => {
    const response = await fetch(`${front.url}/form`);
    expect([response.status, response.headers.get("allow")]).toEqual([405, "POST"]);
    expect(await response.json()).toEqual({ error: "invalid_request", error_description: expect.stringContaining("Allow") });
    expect((await fetch(`${front.url}/json`, { method: "DELETE" })).headers.get("allow")).toBe("GET, POST, HEAD");
    const routed = await fetch(`${front.url}/things/1`, { method: "DELETE" });
    expect([routed.status, routed.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
    expect(await routed.json()).toMatchObject({ statusCode: 405 });
  });

  test("HEAD is answered as GET without a body", async () => {
    const response = await fetch(`${front.url}/json`, { method: "HEAD" });
    expect([response.status, await response.text()]).toEqual([200, ""]);
  });

  test("a path without parameters takes precedence over one with parameters, whatever the method", async () => {
    expect((await fetch(`${front.url}/things/new`)).status).toBe(405);
    expect(await (await fetch(`${front.url}/things/7`)).json()).toEqual({ id: "7" });
    expect((await fetch(`${front.url}/things/none`)).status).toBe(404);
  });

  test("an absolute request target is routed by its path, and * returns 400", async () => {
    expect(await rawRequest(front.port, "GET http://evil.test/json HTTP/1.1\r\nHost: evil.test\r\nConnection: close\r\n\r\n")).toMatch(
      /^HTTP\/1.1 200/,
    );
    expect(await rawRequest(front.port, "GET http://[::1/json HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")).toMatch(/^HTTP\/1.1 200/);
    for (const host of ["a b<>", "user@x", "[::1"])
      expect(await rawRequest(front.port, `GET /json HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)).toMatch(/^HTTP\/1.1 400/);
    expect(await rawRequest(front.port, "OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")).toMatch(/^HTTP\/1.1 400/);
  });

  test("metrics are labelled with the pattern of a route, not with the path", async () => {
    front.observed.length = 0;
    await Promise.all(["/things/1", "/things/2", "/x1", "/x2", "/json"].map((path) => fetch(front.url + path)));
    expect(new Set(front.observed.map(({ route }) => route))).toEqual(new Set(["/things/:id", "unknown", "/json"]));
  });
});

describe("CORS", () => {
  const evil = { origin: "https://evil.test" };

  test("a route with CORS allows any origin without credentials", async () => {
    const response = await postForm(`${front.url}/form`, "a=1", evil);
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
    expect(response.headers.get("access-control-expose-headers")).toContain("WWW-Authenticate");
    expect(response.headers.has("access-control-allow-credentials")).toBe(false);
  });

  test("errors of a route with CORS allow any origin", async () => {
    expect((await postForm(`${front.url}/form`, "a=%", evil)).headers.get("access-control-allow-origin")).toBe("*");
  });

  test("a preflight returns 204 with the methods of the route", async () => {
    const response = await fetch(`${front.url}/form`, { method: "OPTIONS", headers: { ...evil, "access-control-request-method": "POST" } });
    expect([response.status, response.headers.get("access-control-allow-methods")]).toEqual([204, "POST"]);
  });

  test("refusals that precede the route allow any origin", async () => {
    const limited = await startFront({ routes, cap: 0 });
    const limitedKoa = await startFront({ routes, cap: 0, hot: false });
    const answers = await Promise.all([limited, limitedKoa].map(({ url }) => postForm(`${url}/form`, "a=1", evil)));
    await Promise.all([limited.close(), limitedKoa.close()]);
    expect(answers.map(({ status, headers }) => [status, headers.get("access-control-allow-origin")])).toEqual([
      [503, "*"],
      [503, "*"],
    ]);
    const twice = "POST /form HTTP/1.1\r\nHost: x\r\nAuthorization: a\r\nAuthorization: b\r\nContent-Length: 0\r\n\r\n";
    expect(await rawRequest(front.port, twice)).toMatch(/^HTTP\/1.1 400 [\s\S]*Access-Control-Allow-Origin: \*/i);
  });

  test("other routes send no CORS headers", async () => {
    for (const method of ["GET", "OPTIONS"]) {
      expect((await fetch(`${front.url}/json`, { method, headers: evil })).headers.has("access-control-allow-origin")).toBe(false);
    }
  });
});

describe("faults, overload and deadlines", () => {
  test("a fault is reported once, and the response is server_error without details", async () => {
    front.faults.length = 0;
    expect(await failure(await fetch(`${front.url}/fault`))).toEqual([500, { error: "server_error" }]);
    expect(front.faults).toHaveLength(1);
  });

  test("above the cap requests return 503 at once, except on essential paths, and the deadline ends hanging requests with 503", async () => {
    const hanging = [fetch(`${front.url}/held`), fetch(`${front.url}/held`)];
    await new Promise((resolve) => setTimeout(resolve, 100));
    const refused = await fetch(`${front.url}/json`);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
    expect((await fetch(`${front.url}/essential`)).status).toBe(200);
    expect((await Promise.all(hanging)).map(({ status }) => status)).toEqual([503, 503]);
    expect((await fetch(`${front.url}/json`)).status).toBe(200);
  });
});

describe("client address", () => {
  test("behind a proxy is the right-most entry of X-Forwarded-For, or the peer's address if that entry is invalid", async () => {
    const address = async (forwarded: string) =>
      (await (await postForm(`${front.url}/form`, "a=1", { "x-forwarded-for": forwarded })).json()).address;
    expect(await address("1.1.1.1, 2.2.2.2")).toBe("2.2.2.2");
    expect(await address("2001:db8::1")).toBe("2001:db8::1");
    expect(await address("1.1.1.1, 2.2.2.2:51234")).toBe("2.2.2.2");
    expect(await address("[2001:db8::1]:51234")).toBe("2001:db8::1");
    expect(await address("[2001:db8::1]")).toBe("2001:db8::1");
    expect(await address("1.1.1.1, rubbish")).toBe("127.0.0.1");
    expect(await address("1.1.1.1, rubbish:1")).toBe("127.0.0.1");
  });
});
