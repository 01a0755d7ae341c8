import { afterAll, beforeAll, expect, test } from "vitest";
import { type Publisher, publisher } from "../support/publisher.ts";
import { describe, type Shape, startServer, type TestServer } from "../support/server.ts";

const REDIRECT = "https://app.client.example.test/cb";

describe.each<Shape>(["one", "split"])("log lines of refusals, %s", (shape) => {
  let site: Publisher;
  let server: TestServer;
  beforeAll(async () => {
    site = await publisher();
    server = await startServer({ shape, env: { LOG_LEVEL: "info" } });
  });
  afterAll(async () => {
    await server.close();
    await site.close();
  });

  const lines = (event: string) => server.logged.map((line) => JSON.parse(line)).filter((line) => line.event === event);
  const authorize = (clientId: string) =>
    server.get(server.authorizeUrl({ clientId, redirectUri: REDIRECT }, { code_challenge: server.pkce().challenge }));

  test("a refused client metadata document logs one warning with reason, host and request id, without its path", async () => {
    site.serve((request, response) => {
      if (request.url === "/html") response.writeHead(200, { "content-type": "text/html" }).end("<p>");
      else if (request.url === "/other") response.writeHead(200, { "content-type": "application/json" }).end('{"client_id":"x"}');
      else response.writeHead(404).end();
    });
    const urls = ["canary-404", "html", "other"].map((path) => `https://localhost:${site.port}/${path}`);
    const ids: (string | null)[] = [];
    for (const url of urls) {
      const answer = await authorize(url);
      expect([answer.status, answer.body.error]).toEqual([400, "invalid_client"]);
      ids.push(answer.headers.get("x-request-id"));
    }
    const logged = lines("client_document_refused");
    expect(logged.map(({ requestId }) => requestId)).toEqual(ids);
    expect(new Set(logged.map(({ host }) => host))).toEqual(new Set([`localhost:${site.port}`]));
    expect(logged.map(({ level, reason }) => [level, reason])).toEqual([
      [40, "document_status_not_200"],
      [40, "document_not_json"],
      [40, "document_of_another_client"],
    ]);
    expect(server.logged.join("\n")).not.toContain("canary");
  });

  test("concurrent requests for one document log one line, and an invalid URL logs none", async () => {
    site.serve((_request, response) => void setTimeout(() => response.writeHead(404).end(), 1000));
    const before = lines("client_document_refused").length;
    await Promise.all(Array.from({ length: 10 }, () => authorize(`https://localhost:${site.port}/slow`)));
    await authorize(`https://localhost:${site.port}/a?canary=1`);
    expect(lines("client_document_refused")).toHaveLength(before + 1);
    expect(server.logged.join("\n")).not.toContain("canary");
  });

  test("a refused pushed request logs one line with reason, route and request id, without its parameters", async () => {
    const form = { client_id: "public-app", response_type: "code", state: "canary-state", redirect_uri: "https://canary.example.test/" };
    const answers = [await server.form("/oauth/par", form), await server.form("/oauth/par", { ...form, state: ["canary-1", "canary-2"] })];
    expect(lines("push_refused").map(({ level, route, code, reason, requestId }) => [level, route, code, reason, requestId])).toEqual([
      [30, "/oauth/par", "invalid_request", "redirect_uri_not_registered", answers[0]?.headers.get("x-request-id")],
      [30, "/oauth/par", "invalid_request", "parameter_repeated", answers[1]?.headers.get("x-request-id")],
    ]);
    expect(server.logged.join("\n")).not.toContain("canary");
  });

  test("a refused token request logs one line with reason, route and request id, without its parameters", async () => {
    const form = { client_secret: "canary-secret", client_id: "canary-client" };
    const answers = [
      await server.form("/oauth/token", form),
      await server.form("/oauth/token", { ...form, grant_type: "client_credentials" }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([400, 401]);
    const logged = lines("token_refused");
    expect(logged.map(({ requestId }) => requestId)).toEqual(answers.map(({ headers }) => headers.get("x-request-id")));
    expect(logged).toMatchObject([
      { level: 30, route: "/oauth/token", code: "invalid_request", reason: "grant_type_missing" },
      { level: 30, route: "/oauth/token", code: "invalid_client", reason: "client_unknown" },
    ]);
    expect(server.logged.join("\n")).not.toContain("canary");
  });
});
