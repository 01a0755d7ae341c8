import { connect } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { Refusal } from "../../../src/errors.ts";
import { apiErrorPrinter, bearerErrorPrinter, oauthErrorPrinter, sendJson } from "../../../src/front/http/answers.ts";
import { formBody } from "../../../src/front/http/body.ts";
import type { HotContext, Route } from "../../../src/front/http/routes.ts";
import { type FrontListener, listen } from "../../../src/front/http/server.ts";
import { assertDecisiveFields, inFlight, type Lifecycle } from "../../../src/front/http/steps.ts";
import { eitherScheme } from "../../support/challenges.ts";
import { ISSUER, rawRequest, startFront } from "../../support/front.ts";

describe("requests in flight", () => {
  const overloaded = expect.objectContaining({ code: "temporarily_unavailable", reason: "front_overloaded", detail: { retryAfter: 1 } });

  test("refuses a request above the cap, admits an essential one, and admits requests again after one ends", async () => {
    const requests = inFlight(1, 1000);
    const held = Promise.withResolvers<void>();
    const first = requests.run(() => held.promise, false);
    await expect(requests.run(() => {}, false)).rejects.toEqual(overloaded);
    await requests.run(() => {}, true);
    held.resolve();
    await first;
    await requests.run(() => {}, false);
    expect(requests.size).toBe(0);
  });

  test("does not count a request while its body arrives, and checks the cap again afterwards", async () => {
    const requests = inFlight(1, 1000);
    const body = Promise.withResolvers<string>();
    const slow = requests.run(async (_signal, receive) => void (await receive(body.promise)), false);
    expect(requests.size).toBe(0);
    const held = Promise.withResolvers<void>();
    const other = requests.run(() => held.promise, false);
    body.resolve("a=1");
    await expect(slow).rejects.toEqual(overloaded);
    held.resolve();
    await other;
    await requests.run(async (_signal, receive) => void (await receive(Promise.resolve("a=1"))), false);
    expect(requests.size).toBe(0);
  });

  test("stops counting a request whose body failed", async () => {
    const requests = inFlight(1, 1000);
    const failing = requests.run((_signal, receive) => receive(Promise.reject(new Error("interrupted"))), false);
    await expect(failing).rejects.toThrow("interrupted");
    expect(requests.size).toBe(0);
  });

  test("aborts a request at its deadline", async () => {
    const requests = inFlight(10, 20);
    let signal: AbortSignal | undefined;
    const hanging = requests.run((ofRequest) => {
      signal = ofRequest;
      return new Promise<void>(() => {});
    }, false);
    await expect(hanging).rejects.toEqual(expect.objectContaining({ reason: "deadline_passed" }));
    expect(signal?.aborted).toBe(true);
    expect(requests.size).toBe(0);
  });

  test("returns 503 when a body arrives while the front is full", async () => {
    const held = Promise.withResolvers<void>();
    const print = apiErrorPrinter(ISSUER);
    const form = async (ctx: HotContext) => sendJson(ctx, { a: (await formBody(ctx)).get("a") });
    const routes: readonly Route[] = [
      { method: "POST", path: "/form", print, answer: form },
      { method: "GET", path: "/held", print, answer: () => held.promise.then(() => undefined) },
    ];
    const front = await startFront({ routes, cap: 1, deadline: 5000 });
    const head = "POST /form HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 3\r\n\r\n";
    const socket = connect(front.port, "127.0.0.1");
    const answer = new Promise<string>((resolve) => socket.once("data", (chunk) => resolve(String(chunk))));
    socket.write(head);
    await expect.poll(async () => (await fetch(`${front.url}/nowhere`)).status).toBe(404);
    void fetch(`${front.url}/held`).catch(() => undefined);
    await expect.poll(async () => (await fetch(`${front.url}/nowhere`)).status).toBe(503);
    socket.write("a=1");
    expect(await answer).toMatch(/^HTTP\/1.1 503 [\s\S]*Retry-After: 1\r\n/i);
    socket.destroy();
    held.resolve();
    await front.close();
  });
});

/** The response that a printer writes, without a server. */
function printed(print: (ctx: HotContext, refusal: Refusal | undefined) => void, refusal: Refusal | undefined) {
  const headers = new Map<string, string>();
  const ctx = {
    req: { headers: {} },
    status: 404,
    body: undefined as unknown,
    set: (name: string, value: string) => void headers.set(name.toLowerCase(), value),
    remove: (name: string) => void headers.delete(name.toLowerCase()),
  };
  print(ctx as unknown as HotContext, refusal);
  return { status: ctx.status, body: JSON.parse(String(ctx.body)), headers: Object.fromEntries(headers) };
}

describe("error responses", () => {
  const [oauth, api, bearer] = [oauthErrorPrinter(ISSUER), apiErrorPrinter(ISSUER), bearerErrorPrinter(ISSUER, "openid")];

  test.for([
    ["five seconds for a 503 without a time", new Refusal("temporarily_unavailable", "busy"), "5"],
    ["the time of the refusal", new Refusal("temporarily_unavailable", "busy", { retryAfter: 2 }), "2"],
    ["whole seconds, rounded up", new Refusal("too_many_requests", "rate", { retryAfter: 1.2 }), "2"],
    ["at least one second", new Refusal("too_many_requests", "rate", { retryAfter: 0.1 }), "1"],
    ["nothing for a 429 without a time", new Refusal("too_many_requests", "rate"), undefined],
    ["nothing for a 400", new Refusal("invalid_request", "x"), undefined],
    ["nothing for an internal error", undefined, undefined],
  ] as const)("Retry-After is %s", ([, refusal, expected]) => {
    for (const print of [oauth, api, bearer]) expect(printed(print, refusal).headers["retry-after"]).toBe(expected);
  });

  test("an unread body closes the connection", () => {
    const { status, body, headers } = printed(oauth, new Refusal("payload_too_large", "x", { description: "Too long." }));
    expect([status, body, headers.connection]).toEqual([413, { error: "invalid_request", error_description: "Too long." }, "close"]);
    expect(printed(oauth, new Refusal("invalid_request", "x")).headers.connection).toBeUndefined();
  });

  test("a 401 has the challenge of its endpoint", () => {
    expect(printed(oauth, new Refusal("invalid_client", "x")).headers["www-authenticate"]).toBe(`Basic realm="${ISSUER}", charset="UTF-8"`);
    expect(printed(bearer, new Refusal("unauthenticated", "x"))).toMatchObject({
      status: 401,
      body: {},
      headers: { "www-authenticate": eitherScheme(ISSUER) },
    });
    expect(printed(bearer, new Refusal("insufficient_scope", "x")).headers["www-authenticate"]).toBe(
      `Bearer realm="${ISSUER}", error="insufficient_scope", scope="openid"`,
    );
    expect(printed(apiErrorPrinter(ISSUER, "Session"), new Refusal("unauthenticated", "x")).headers["www-authenticate"]).toBe(
      `Session realm="${ISSUER}"`,
    );
  });

  test("an internal error reveals no details", () => {
    expect(printed(oauth, undefined)).toMatchObject({ status: 500, body: { error: "server_error" } });
    expect(printed(api, undefined).body).toEqual({ statusCode: 500, error: "Internal Server Error", message: "Internal Server Error." });
  });
});

describe("repeated header fields", () => {
  test.for([
    ["Authorization twice", ["Authorization", "a", "authorization", "a"], "authorization_repeated"],
    ["Content-Type twice", ["content-type", "a", "Host", "x", "CONTENT-TYPE", "b"], "header_repeated"],
    ["Host twice", ["Host", "x", "Accept", "a", "host", "y"], "header_repeated"],
    ["one of each", ["Host", "x", "Authorization", "a", "Content-Type", "b"], undefined],
    ["another field twice", ["Accept", "a", "Accept", "b"], undefined],
    ["a value that names the field", ["Authorization", "a", "X-Forwarded-X", "authorization"], undefined],
  ] as const)("%s", ([, rawHeaders, reason]) => {
    const check = () => assertDecisiveFields({ rawHeaders: [...rawHeaders] });
    if (reason !== undefined) expect(check).toThrow(expect.objectContaining({ code: "invalid_request", reason }));
    else expect(check).not.toThrow();
  });
});

describe("the HTTP listener", () => {
  let listener: FrontListener | undefined;
  afterEach(() => listener?.drain(0, 0));

  test("refuses a request with more than 100 header fields", async () => {
    const life: Lifecycle = { draining: false };
    listener = await listen({ host: "127.0.0.1", port: 0, lifecycle: life, handler: (_req, res) => void res.end() });
    const port = listener.addresses[0]?.port ?? 0;
    const fields = (count: number) => Array.from({ length: count }, (_, index) => `X-${index}: x\r\n`).join("");
    const answer = (count: number) => rawRequest(port, `GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${fields(count - 2)}\r\n`);
    expect(await answer(100)).toMatch(/^HTTP\/1.1 200 /);
    expect(await answer(101)).toMatch(/^HTTP\/1.1 431 /);
  });
});

test.for(["x", "x:", "EXAMPLE.test:8080", "127.0.0.1:1", "[::1]", "[::1]:443", "[v1.a:b]", "a_b", "xn--bcher-kva.example", "%41", ""])(
  "the Host %j is an authority",
  (host) => {
    expect(() => assertDecisiveFields({ rawHeaders: ["Host", host] })).not.toThrow();
  },
);

test.for(["a b<>", "a b", "user@x", "x/y", "x?", "x#", "[::1", "::1", "x:80:80", "x:a", "%4", "é", '"x"', "x\\y", "http://x"])(
  "the Host %j is refused",
  (host) => {
    const check = () => assertDecisiveFields({ rawHeaders: ["Host", host] });
    for (const one of [check, check]) expect(one).toThrow(expect.objectContaining({ code: "invalid_request", reason: "host_malformed" }));
  },
);
