import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { Exchange } from "../../../src/front/http/exchange.ts";

const STATE = {
  requestId: "r",
  address: "127.0.0.1",
  signal: new AbortController().signal,
  receive: <T>(body: () => Promise<T>) => body(),
};

/** What a client sees of an exchange that `answer` has filled in. */
async function seen(answer: (ctx: Exchange) => void, method = "GET"): Promise<Response> {
  const server = createServer((req, res) => {
    const ctx = new Exchange(req, res, STATE, ([first]) => first ?? false);
    answer(ctx);
    ctx.send();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    return await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, { method });
  } finally {
    server.close();
  }
}

describe("an exchange", () => {
  test("is 200 with its length once it has a body, 404 without one", async () => {
    const answer = await seen((ctx) => {
      ctx.body = "grüezi";
    });
    expect([answer.status, answer.headers.get("content-length"), await answer.text()]).toEqual([200, "7", "grüezi"]);
    const nothing = await seen(() => {});
    expect([nothing.status, await nothing.text()]).toEqual([404, "Not Found"]);
  });

  test("sends bytes as they are", async () => {
    const answer = await seen((ctx) => {
      ctx.body = Buffer.from([0xff, 0x00]);
    });
    expect(new Uint8Array(await answer.arrayBuffer())).toEqual(new Uint8Array([0xff, 0x00]));
  });

  test("answers HEAD with the length and without the body (RFC 9110 §9.3.2)", async () => {
    const answer = await seen((ctx) => {
      ctx.body = "four";
    }, "HEAD");
    expect([answer.status, answer.headers.get("content-length"), await answer.text()]).toEqual([200, "4", ""]);
  });

  test.for([204, 304])("says nothing of content with status %i (RFC 9110 §6.4.1)", async (status) => {
    const answer = await seen((ctx) => {
      ctx.set("Content-Type", "application/json");
      ctx.status = status;
    });
    expect([answer.status, answer.headers.get("content-type"), answer.headers.get("content-length")]).toEqual([status, null, null]);
  });

  test("knows a header by its name in any case, and keeps cookies apart", async () => {
    const answer = await seen((ctx) => {
      ctx.set("Cache-Control", "public");
      ctx.set("cache-control", "no-store");
      ctx.set("Pragma", "no-cache");
      ctx.remove("pragma");
      ctx.append("Set-Cookie", "a=1");
      ctx.append("Set-Cookie", "b=2");
      ctx.vary("Accept");
      ctx.vary("Origin");
      ctx.body = "";
    });
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(answer.headers.get("pragma")).toBeNull();
    expect(answer.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
    expect(answer.headers.get("vary")).toBe("Accept, Origin");
  });
});
