import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { lightContext, NO_STATE } from "../../../src/front/http/routes.ts";

const STATE = { ...NO_STATE, requestId: "r", address: "127.0.0.1", route: "/" };

/** The response of a light context that `answer` has filled in. */
async function seen(answer: (ctx: ReturnType<typeof lightContext>) => void, method = "GET"): Promise<Response> {
  const server = createServer((req, res) => {
    const ctx = lightContext(req, res, STATE);
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

describe("a light context", () => {
  test("responds with 200 and the Content-Length of its body", async () => {
    const answer = await seen((ctx) => {
      ctx.body = "grüezi";
    });
    expect([answer.status, answer.headers.get("content-length"), await answer.text()]).toEqual([200, "7", "grüezi"]);
  });

  test("sends bytes unchanged", async () => {
    const answer = await seen((ctx) => {
      ctx.body = Buffer.from([0xff, 0x00]);
    });
    expect(new Uint8Array(await answer.arrayBuffer())).toEqual(new Uint8Array([0xff, 0x00]));
  });

  test("responds to HEAD with the Content-Length and without the body (RFC 9110 §9.3.2)", async () => {
    const answer = await seen((ctx) => {
      ctx.body = "four";
    }, "HEAD");
    expect([answer.status, answer.headers.get("content-length"), await answer.text()]).toEqual([200, "4", ""]);
  });

  test.for([204, 304])("sends no content headers with status %i (RFC 9110 §6.4.1)", async (status) => {
    const answer = await seen((ctx) => {
      ctx.set("Content-Type", "application/json");
      ctx.status = status;
    });
    expect([answer.status, answer.headers.get("content-type"), answer.headers.get("content-length")]).toEqual([status, null, null]);
  });

  test("sets and removes headers by case-insensitive names", async () => {
    const answer = await seen((ctx) => {
      ctx.set("Cache-Control", "public");
      ctx.set("cache-control", "no-store");
      ctx.set("Pragma", "no-cache");
      ctx.remove("pragma");
      ctx.body = "";
    });
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(answer.headers.get("pragma")).toBeNull();
  });
});
