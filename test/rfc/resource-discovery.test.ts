import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished } from "vitest";
import { operatorAt } from "../support/admin.ts";
import { type TestServer, testOn } from "../support/server.ts";

const test = testOn({
  env: { NODE_ENV: "development", LOG_LEVEL: "info", DEFAULT_DYNAMIC_REGISTRATION_SCOPES: "openid offline_access" },
});

/** A resource on loopback whose metadata requests are answered by `answer`. */
async function resourceThat(answer: (response: ServerResponse, resource: string) => void) {
  let resource = "";
  let fetched = 0;
  const site = createServer((_, response) => {
    fetched += 1;
    answer(response, resource);
  }).listen(0, "127.0.0.1");
  await once(site, "listening");
  onTestFinished(() => {
    site.closeAllConnections();
    site.close();
  });
  resource = `http://127.0.0.1:${(site.address() as AddressInfo).port}/mcp`;
  return { resource, fetched: () => fetched };
}

const json = (response: ServerResponse, value: unknown): void =>
  void response.setHeader("content-type", "application/json").end(JSON.stringify(value));

async function authorize(server: TestServer, resource: string): Promise<URLSearchParams> {
  const { browser } = await server.signedInUser();
  return server.authorize(server.clients.web, browser, { resource, scope: "openid" });
}

const linesAbout = (server: TestServer, resource: string) =>
  server.logged
    .map((line) => JSON.parse(line))
    .filter((line) => line.resource === resource)
    .map(({ event, reason }) => [event, reason]);

test.for<[string, string, (response: ServerResponse, document: Record<string, unknown>) => void]>([
  ["that is huge", "too_large", (response, document) => json(response, { ...document, padding: "x".repeat(70_000) })],
  ["that redirects", "status_not_200", (response) => void response.writeHead(302, { location: "http://127.0.0.1:1/" }).end()],
  [
    "of another server",
    "issuer_not_named",
    (response, document) => json(response, { ...document, authorization_servers: ["https://a.test"] }),
  ],
  ["about another resource", "resource_differs", (response, document) => json(response, { ...document, resource: "http://127.0.0.1:1/" })],
  ["that is not JSON", "not_json", (response) => void response.end("<html>")],
  ["that never comes", "too_slow", () => undefined],
])("a document %s creates no record and logs one line, and the request succeeds", async ([, reason, answer], { server }) => {
  const { resource, fetched } = await resourceThat((response, self) =>
    answer(response, { resource: self, authorization_servers: [server.url], scopes_supported: ["notes:read"] }),
  );
  expect((await authorize(server, resource)).get("code")).toMatch(/./);
  await authorize(server, resource);
  expect(linesAbout(server, resource)).toEqual([["resource_not_discovered", reason]]);
  expect(fetched()).toBe(1);
  const { resources } = await (await operatorAt(server.url)).resources.list.query();
  expect(resources.map((each) => each.resource)).not.toContain(resource);
});

test("three concurrent requests for a resource that names this server create one record", async ({ server }) => {
  const asked = async () => {
    const site = await resourceThat((response, self) =>
      json(response, {
        resource: self,
        authorization_servers: [server.url],
        resource_name: "Notes",
        scopes_supported: ["notes:read", "openid"],
      }),
    );
    await Promise.all([authorize(server, site.resource), authorize(server, site.resource), authorize(server, site.resource)]);
    return { ...site, lines: linesAbout(server, site.resource) };
  };
  let found = await asked();
  // A machine that stands still for the seconds of a fetch has shown nothing yet.
  while (found.lines.some(([, reason]) => reason === "too_slow")) found = await asked();
  const { resource, fetched, lines } = found;
  expect(lines).toEqual([["resource_discovered", undefined]]);
  expect(fetched()).toBe(1);
  const operator = await operatorAt(server.url);
  expect(await operator.resources.get.query({ resource })).toMatchObject({
    name: "Notes",
    scopes: [{ name: "notes:read" }],
    clients: ["registered", "document", "named"],
    origin: "discovered",
  });
  await operator.resources.update.mutate({ resource, scopes: [{ name: "notes:old" }] });
  expect((await operator.resources.inspect.query({ resource })).difference).toEqual({ added: ["notes:read"], removed: ["notes:old"] });
});

test("a resource on another host is not fetched", async ({ server }) => {
  expect((await authorize(server, "https://notes.example.test/mcp")).get("code")).toMatch(/./);
  expect(linesAbout(server, "https://notes.example.test/mcp")).toEqual([]);
});
