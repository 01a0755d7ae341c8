import { describe, expect } from "vitest";
import { rawRequest } from "../support/front.ts";
import { test } from "../support/server.ts";

const CONNECT = "/countersign.introspection.v1.IntrospectionService";

describe("each path has one spelling", () => {
  test.for([
    "/API/clients/",
    "/Api/clients",
    "/api/clients//",
    "/api/clients/an-id/",
    "/api/clients/%61n-id",
    "/api/clients/an-id/API-keys",
    "/api/clients/an-id/api-keys/",
    "/api/clients%2Fan-id",
    "/api%2Fclients/",
    "/consents/an-id/",
    "/Consents/",
    "/TRPC/clients.list",
    "/trpc/clients.list/",
    "/trpc/clients%2Elist",
    "/trpc/%63lients.list",
    "/trpc/clients.list%2Cclients.list?batch=1",
    "/AUTH/link/wallet/a-handle",
    "/auth/link/wallet/a-handle/",
    "/auth/link/wallet/%61",
    "/Health",
    "/health/",
    "/%68ealth",
    "/oauth/token/",
    `${CONNECT.toLowerCase()}/Introspect`,
    `${CONNECT}/Introspect/`,
    `${CONNECT}/%49ntrospect`,
  ])("%s returns 404", async (path, { server }) => {
    expect((await fetch(server.url + path)).status).toBe(404);
  });

  test("an encoded parameter returns 404 in the error format of its path", async ({ server }) => {
    const bodyOf = async (path: string) => (await fetch(server.url + path)).json();
    expect(await bodyOf("/auth/link/wallet/%61")).toEqual({ message: expect.any(String) });
    expect(await bodyOf("/auth/link/wallet/request/%61")).toEqual({ message: expect.any(String) });
    expect(await bodyOf("/api/clients/%61n-id")).toEqual({ statusCode: 404, error: "Not Found", message: expect.any(String) });
    expect(await bodyOf("/trpc/clients%2Elist")).toEqual({ error: expect.objectContaining({ data: expect.any(Object) }) });
  });

  test("the documented spellings return 401 without credentials", async ({ server }) => {
    const paths = ["/api/clients/", "/api/clients", "/api/clients/an-id", "/consents/", "/consents", "/trpc/clients.list"];
    for (const path of paths) expect([path, (await fetch(server.url + path)).status]).toEqual([path, 401]);
    expect((await fetch(`${server.url}/trpc/clients.list,clients.list?batch=1`)).status).toBe(401);
  });
});

describe("an unsupported method returns 405 with Allow, in the error format of the path", () => {
  const API = { statusCode: 405, error: "Method Not Allowed", message: expect.any(String) };
  test.for([
    ["/health", "GET, HEAD", API],
    ["/oauth/token", "POST", { error: "invalid_request", error_description: expect.any(String) }],
    ["/api/clients/", "GET, POST, HEAD", API],
    ["/api/clients/an-id", "GET, PATCH, DELETE, HEAD", API],
    ["/consents/an-id", "DELETE", API],
    ["/auth/link/wallet", "POST", { message: expect.any(String) }],
    ["/auth/link/wallet/response", "POST", { message: expect.any(String) }],
    ["/auth/link/wallet/a-handle", "GET, HEAD", { message: expect.any(String) }],
    ["/trpc/clients.list", "GET, POST, HEAD", { error: expect.objectContaining({ data: expect.any(Object) }) }],
    [`${CONNECT}/Introspect`, "POST", { code: "unimplemented", message: expect.any(String) }],
  ] as const)("TRACE %s", async ([path, allow, body], { server }) => {
    const answer = await rawRequest(Number(new URL(server.url).port), `TRACE ${path} HTTP/1.0\r\nHost: x\r\n\r\n`, 3000);
    const [head = "", content = ""] = answer.split("\r\n\r\n");
    expect(head).toMatch(/^HTTP\/1\.1 405/);
    expect(/^allow: (.*)$/im.exec(head)?.[1]).toBe(allow);
    expect(JSON.parse(content)).toEqual(body);
  });

  test("GET on a Connect path", async ({ server }) => {
    const response = await fetch(`${server.url}${CONNECT}/VerifyApiKey`);
    expect([response.status, response.headers.get("allow")]).toEqual([405, "POST"]);
  });
});

test("HEAD returns the status and media type of GET on every documented path except those where GET has an effect", async ({ server }) => {
  const { paths } = (await server.get("/openapi.json")).body;
  const withGet = Object.keys(paths).filter((path) => "get" in paths[path] && !["/auth/verify", "/oauth/authorize"].includes(path));
  expect(withGet.length).toBeGreaterThan(15);
  for (const path of withGet) {
    const url = server.url + path.replace(/\{\w+\}/g, "an-id");
    const [got, head] = [await fetch(url, { redirect: "manual" }), await fetch(url, { method: "HEAD", redirect: "manual" })];
    const about = ({ status, headers }: Response) => [path, status, headers.get("content-type")];
    expect([...about(head), await head.text()]).toEqual([...about(got), ""]);
  }
});
