import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { Refusal } from "../../../src/errors.ts";
import { apiErrorPrinter, bearerErrorPrinter, oauthErrorPrinter, sendJson } from "../../../src/front/http/answers.ts";
import { formText, jsonBody } from "../../../src/front/http/body.ts";
import type { HotContext, Route } from "../../../src/front/http/routes.ts";
import { inFlight } from "../../../src/front/http/steps.ts";
import { ISSUER, startFront, type TestFront } from "../../support/front.ts";

const FORM = "application/x-www-form-urlencoded";
const print = apiErrorPrinter(ISSUER);
const routes: readonly Route[] = [
  { method: "POST", path: "/hot", hot: true, print, answer: async (ctx) => sendJson(ctx, { text: await formText(ctx) }) },
  { method: "POST", path: "/koa", print, answer: async (ctx) => sendJson(ctx, { text: await formText(ctx) }) },
  { method: "POST", path: "/json", print, answer: async (ctx) => sendJson(ctx, { value: await jsonBody(ctx, 100) }) },
  { method: "POST", path: "/strict", print, answer: async (ctx) => sendJson(ctx, { value: await jsonBody(ctx, 100, "invalid_request") }) },
];

let front: TestFront;
let refusals: string[] = [];
beforeAll(async () => {
  const refused = ({ code, reason }: Refusal) => void refusals.push(`${code} ${reason}`);
  front = await startFront({ routes, telemetry: { observe: () => undefined, fault: () => undefined, refused } });
});
afterAll(() => front.close());

/** The response to a body, and the logged refusals. */
async function send(path: string, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string>) {
  refusals = [];
  const response = await fetch(front.url + path, { method: "POST", body, headers });
  const { text, value, message } = (await response.json()) as Record<string, unknown>;
  return response.status === 200 ? { text, value } : { message, refused: refusals };
}
const refusedWith = (message: string, refused: string) => ({ message, refused: [refused] });

describe.for(["/hot", "/koa"])("a form at %s", (path) => {
  test.for([
    ["of another media type", "a=1", { "content-type": "text/plain" }, `The body must be ${FORM}.`, "invalid_request media_type"],
    ["without a media type", new Uint8Array([97, 61, 49]), {}, `The body must be ${FORM}.`, "invalid_request media_type"],
    [
      "that is encoded",
      "a=1",
      { "content-type": FORM, "content-encoding": "gzip" },
      "The body must not be encoded.",
      "unsupported_media_type content_encoding",
    ],
    ["that is too large", "x".repeat(65_537), { "content-type": FORM }, "The body is too large.", "payload_too_large body_too_large"],
    ["that is not UTF-8", new Uint8Array([0xff]), { "content-type": FORM }, "The body is not valid UTF-8.", "invalid_request invalid_utf8"],
    ["with NUL", "\0", { "content-type": FORM }, "The body contains NUL.", "invalid_request nul_in_body"],
  ] as const)("is refused %s", async ([, body, headers, message, refused]) =>
    expect(await send(path, body, { ...headers })).toEqual(refusedWith(message, refused)),
  );

  test("is accepted with a media type in any case and with parameters, and encoded as identity", async () => {
    const headers = { "content-type": "Application/X-WWW-Form-Urlencoded ; charset=utf-8", "content-encoding": "identity" };
    expect(await send(path, "a=ä", headers)).toEqual({ text: "a=ä" });
    expect(await send(path, "", { "content-type": FORM })).toEqual({ text: "" });
    expect(await send(path, "x".repeat(65_536), { "content-type": FORM })).toEqual({ text: "x".repeat(65_536) });
  });

  test("that is interrupted is refused with body_interrupted", async () => {
    refusals = [];
    const socket = connect(front.port, "127.0.0.1");
    socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: ${FORM}\r\nContent-Length: 100\r\n\r\na=1`);
    await new Promise((resolve) => setTimeout(resolve, 50));
    socket.destroy();
    await expect.poll(() => refusals, { interval: 10 }).toEqual(["invalid_request body_interrupted"]);
  });

  test("of unknown length is read in chunks, up to the limit", async () => {
    const pieces = async (count: number) => {
      refusals = [];
      const body = new ReadableStream({
        async start(controller) {
          for (let piece = 0; piece < count; piece++) {
            controller.enqueue(new TextEncoder().encode("x".repeat(0x4000)));
            await new Promise((resolve) => setTimeout(resolve, 2));
          }
          controller.close();
        },
      });
      const request = { method: "POST", headers: { "content-type": FORM }, body, duplex: "half" } as RequestInit;
      const response = await fetch(front.url + path, request);
      return [response.status, ((await response.json()) as { text?: string }).text?.length];
    };
    expect(await pieces(4)).toEqual([200, 65_536]);
    expect(await pieces(5).catch(() => [413, undefined])).toEqual([413, undefined]);
    expect(refusals).toEqual(["payload_too_large body_too_large"]);
  });
});

describe("a JSON body", () => {
  const json = { "content-type": "application/json" };
  test.for([
    ["{", "The body is not valid JSON.", "invalid_request bad_json"],
    [`${"[".repeat(9)}${"]".repeat(9)}`, "The body is nested too deeply.", "invalid_request json_too_deep"],
    [`${'{"a":'.repeat(8)}{}${"}".repeat(8)}`, "The body is nested too deeply.", "invalid_request json_too_deep"],
    ['"\\u0000"', "The body contains a character that cannot be stored.", "invalid_request unstorable_text"],
    ['"\\ud800"', "The body contains a character that cannot be stored.", "invalid_request unstorable_text"],
    ['{"\\u0000":1}', "The body contains a character that cannot be stored.", "invalid_request unstorable_text"],
    ["[1]".padEnd(101), "The body is too large.", "payload_too_large body_too_large"],
  ] as const)("is refused: %s", async ([body, message, refused]) =>
    expect(await send("/json", body, json)).toEqual(refusedWith(message, refused)),
  );

  test("is limited in bytes and to eight levels", async () => {
    expect(await send("/json", "[1]".padEnd(100), json)).toEqual({ value: [1] });
    expect(await send("/json", `${'{"a":'.repeat(7)}{}${"}".repeat(7)}`, json)).toHaveProperty("value.a.a.a.a.a.a.a", {});
    expect(await send("/json", '{"a":null,"b":[true,"c"],"__proto__":1}', json)).toEqual({
      value: JSON.parse('{"a":null,"b":[true,"c"],"__proto__":1}'),
    });
  });

  test("with another media type is refused with the code of its route", async () => {
    const message = "The body must be application/json.";
    const text = { "content-type": "text/plain" };
    expect(await send("/json", "{}", text)).toEqual(refusedWith(message, "unsupported_media_type media_type"));
    expect(await send("/strict", "{}", text)).toEqual(refusedWith(message, "invalid_request media_type"));
  });
});

describe("deadlines of requests", () => {
  beforeAll(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
  afterAll(() => void vi.useRealTimers());

  test("refuse each request at its own deadline, unless it has been answered", async () => {
    const requests = inFlight(10, 60);
    const ended: unknown[] = [];
    const hang = (name: string) =>
      void requests
        .run(() => new Promise<void>(() => undefined), false)
        .catch((error: Refusal) => ended.push([name, error.code, error.reason, error.detail.retryAfter]));
    const overdue = (name: string) => [name, "temporarily_unavailable", "deadline_passed", 1];
    hang("first");
    await vi.advanceTimersByTimeAsync(30);
    hang("second");
    await requests.run(async () => undefined, false);
    await vi.advanceTimersByTimeAsync(10);
    hang("third");
    await vi.advanceTimersByTimeAsync(19);
    expect([ended, requests.size]).toEqual([[], 3]);
    await vi.advanceTimersByTimeAsync(1);
    expect([ended, requests.size]).toEqual([[overdue("first")], 2]);
    await vi.advanceTimersByTimeAsync(29);
    expect(requests.size).toBe(2);
    await vi.advanceTimersByTimeAsync(1);
    expect([ended.slice(1), requests.size]).toEqual([[overdue("second")], 1]);
    await vi.advanceTimersByTimeAsync(10);
    expect([ended.slice(2), requests.size]).toEqual([[overdue("third")], 0]);
    hang("fourth");
    await vi.advanceTimersByTimeAsync(60);
    expect(ended.slice(3)).toEqual([overdue("fourth")]);
  });
});

describe("body and challenge of an error", () => {
  function printed(printer: typeof print, refusal: Refusal | undefined) {
    const headers: Record<string, string> = {};
    const ctx = {
      req: { headers: {} },
      status: 0,
      body: "",
      set: (name: string, value: string) => Object.assign(headers, { [name]: value }),
    };
    printer(ctx as unknown as HotContext, refusal);
    return { headers, body: JSON.parse(ctx.body) };
  }
  const typed = { "Cache-Control": "no-store", Pragma: "no-cache", "Content-Type": "application/json" };

  test("of OAuth have the code of the refusal", () => {
    const oauth = oauthErrorPrinter(ISSUER);
    expect(printed(oauth, new Refusal("invalid_grant", "x"))).toEqual({ headers: typed, body: { error: "invalid_grant" } });
    expect(printed(oauth, undefined)).toEqual({ headers: typed, body: { error: "server_error" } });
  });

  test("of the API list the issues, where there are any", () => {
    const issues = [{ path: "name", message: "Too long." }];
    expect(printed(print, new Refusal("invalid_request", "x", { issues })).body).toEqual({
      statusCode: 400,
      error: "Bad Request",
      message: "Bad Request.",
      issues,
    });
    expect(printed(print, new Refusal("invalid_request", "x")).body).not.toHaveProperty("issues");
  });

  test("have a challenge only where a credential is missing or insufficient", () => {
    const challenge = (printer: typeof print, refusal: Refusal | undefined) => printed(printer, refusal).headers["WWW-Authenticate"];
    for (const printer of [print, apiErrorPrinter(ISSUER, "Password"), bearerErrorPrinter(ISSUER, "a")])
      for (const refusal of [undefined, new Refusal("not_found", "x"), new Refusal("forbidden", "x")])
        expect(challenge(printer, refusal)).toBeUndefined();
    expect(challenge(apiErrorPrinter(ISSUER, "Password"), new Refusal("invalid_token", "x"))).toBe(`Password realm="${ISSUER}"`);
    expect(challenge(print, new Refusal("invalid_token", "x"))).toBe(`Bearer realm="${ISSUER}", error="invalid_token"`);
    expect(challenge(print, new Refusal("insufficient_scope", "x"))).toBe(`Bearer realm="${ISSUER}", error="insufficient_scope"`);
    const named = new Refusal("insufficient_scope", "x", { scope: "b" });
    expect(challenge(bearerErrorPrinter(ISSUER, "a"), named)).toBe(`Bearer realm="${ISSUER}", error="insufficient_scope", scope="b"`);
  });
});
