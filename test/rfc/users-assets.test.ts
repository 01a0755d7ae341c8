import { hash } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startServer, type TestServer } from "../support/server.ts";

// The files of the pages. While an upgrade runs, a page of one release asks for its files at the other, which knows other digests.

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ env: { BRAND_NAME: "Acme", BRAND_ACCENT: "#aa2200" } });
});
afterAll(() => server.close());

const FOREVER = "public, max-age=31536000, immutable";
/** A digest that this release does not know. */
const another = (path: string) => path.replace(/[0-9a-f]{16}(?=\.\w+$)/, "0123456789abcdef");

const filesOf = async (path: string): Promise<readonly string[]> =>
  [...(await (await fetch(server.url + path)).text()).matchAll(/(?:href|src)="([^"]*\/assets\/[^"]+)"/g)].map(([, file = ""]) => file);

const sent = async (path: string) => {
  const response = await fetch(server.url + path);
  return {
    status: response.status,
    type: response.headers.get("content-type"),
    caching: response.headers.get("cache-control"),
    digest: hash("sha256", await response.text()),
  };
};

test.for(["/login", "/docs", "/console"])("%s: each file that it names is to be kept for ever", async (path) => {
  const files = await filesOf(path);
  expect(files.length).toBeGreaterThan(1);
  for (const file of files) expect(await sent(file)).toMatchObject({ status: 200, caching: FOREVER });
});

test("a file of a page is sent for another digest of its name too, and is not kept", async () => {
  const files = new Set(await filesOf("/login"));
  expect([...files].map((file) => /(\w+)\.\w+\.\w+$/.exec(file)?.[1]).sort()).toEqual(expect.arrayContaining(["page", "passkey", "style"]));
  for (const file of files) expect(await sent(another(file))).toEqual({ ...(await sent(file)), caching: "no-store" });
});

test("a script or style of the console is sent for another digest too, and is not kept", async () => {
  for (const file of await filesOf("/console")) {
    const other = file.replace(/-[\w-]{8}(?=\.\w+$)/, "-AbCd_-12");
    expect(other).not.toBe(file);
    expect(await sent(other)).toEqual({ ...(await sent(file)), caching: "no-store" });
  }
});

test.for([
  "/assets/style.css",
  "/assets/style.0123456789abcdef.js",
  "/assets/style.0123456789abcde.css",
  "/assets/none.0123456789abcdef.css",
  "/assets/constructor.0123456789abcdef.js",
  "/assets/brand/0123456789abcdef.css",
  "/console/assets/none-AbCd_-12.js",
  "/console/assets/index.js",
  "/console/assets/index-AbCd_-12.svg",
])("%s names nothing, and that is not kept", async (path) => {
  expect(await sent(path)).toMatchObject({ status: 404, caching: "no-store" });
});
