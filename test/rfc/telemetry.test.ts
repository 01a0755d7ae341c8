import { connect } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { aCollector, attributesOf, theOne } from "../support/collector.ts";
import { runText } from "../support/database.ts";
import { basicAuth } from "../support/flow.ts";
import { startServer } from "../support/server.ts";

/** Kinds of spans in OTLP. */
const [SERVER, CLIENT] = [2, 3];

test("a token request is one trace over front, core and statements, without a value of the request", async () => {
  const collector = await aCollector();
  const named = { OTEL_SERVICE_NAME: "identity", OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test%20bed,service.name=other" };
  const server = await startServer({ env: { ...collector.env, ...named, OTEL_METRICS_EXPORTER: "none" }, shape: "one" });
  const { web } = server.clients;
  const issued = await server.tokens(web, (await server.signedInUser()).browser, { scope: "openid offline_access" });
  await server.get(`/consents/of?secret=canary-in-a-query`);
  await server.get("/api/clients/canary-in-a-path");
  await server.get("/canary-of-no-route");
  await server.close(); // sends what waits

  const spans = collector.spans();
  const request = theOne("requests for tokens", spans, ({ name }) => name === "POST /oauth/token");
  const ofRequest = spans.filter(({ traceId }) => traceId === request.traceId);
  const core = theOne("calls of the core", ofRequest, ({ name }) => name === "core.token");
  expect(core.parentSpanId).toBe(request.spanId);
  expect(ofRequest.filter(({ name }) => /^[a-z]+_/.test(name)).length).toBeGreaterThan(0);
  expect(request.resource).toMatchObject({
    ...{
      "service.name": "identity",
      "service.namespace": server.url,
      "deployment.environment.name": "test bed",
      "countersign.role": "all",
    },
  });
  const names = spans.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(["GET /consents/:id", "GET /api/clients/:id", "GET"]));
  const all = collector.all();
  expect(all).not.toContain("canary");
  for (const token of [issued.access_token, issued.refresh_token]) expect(all).not.toContain(token);
  expect(collector.metrics()).toEqual([]);
});

test("introspection over HTTP by Connect is counted, timed and traced like every other route", async () => {
  const collector = await aCollector();
  const server = await startServer({ env: { ...collector.env, OTEL_METRICS_EXPORTER: "none" }, shape: "one" });
  const { clientId, secret = "" } = server.clients.worker;
  const path = "/countersign.introspection.v1.IntrospectionService/Introspect";
  const headers = { "content-type": "application/json", authorization: basicAuth(clientId, secret) };
  const statuses = [await fetch(server.url + path, { method: "POST", headers, body: '{"token":"x"}' }), await fetch(server.url + path)];
  expect(statuses.map(({ status }) => status)).toEqual([200, 405]);
  expect((await fetch(`${server.url}/oauth/token`, { method: "PURGE" })).status).toBe(405);
  const metrics = async () => (await server.get("/metrics")).body;
  await expect.poll(metrics).toContain(`countersign_http_requests_total{route="${path}",method="GET",status="405"} 1`);
  expect(await metrics()).toContain(`countersign_http_requests_total{route="${path}",method="POST",status="200"} 1`);
  expect(await metrics()).toContain('countersign_http_requests_total{route="/oauth/token",method="other",status="405"} 1');
  expect(await metrics()).toContain(`countersign_http_request_duration_seconds_count{route="${path}"} 2`);
  const { port } = new URL(server.url);
  const leaving = connect(Number(port), "127.0.0.1");
  leaving.end(`POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{`);
  await expect.poll(metrics).toContain(`countersign_http_requests_total{route="${path}",method="POST",status="400"} 1`);
  await server.close();
  expect(collector.spans().map(({ name }) => name)).toContain(`POST ${path}`);
});

test("front and core that run apart are one trace, if the request is sampled, and each sends its metrics", async () => {
  const collector = await aCollector();
  const server = await startServer({ env: { ...collector.env, TRUST_PROXY: "true" }, shape: "split" });
  const { clientId, secret = "" } = server.clients.worker;
  const form = { grant_type: "client_credentials", scope: "notes:read" };
  const tokenWithin = async (traceparent: string) =>
    (await server.form("/oauth/token", form, { traceparent, authorization: basicAuth(clientId, secret) })).status;
  expect(await tokenWithin(`00-${"a".repeat(32)}-${"b".repeat(16)}-01`)).toBe(200);
  expect(await tokenWithin(`00-${"c".repeat(32)}-${"d".repeat(16)}-00`)).toBe(200);
  const served = [...(await (await fetch(`${server.url}/metrics`)).text()).matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name);
  await server.close();

  const spans = collector.spans().filter(({ traceId }) => traceId === "a".repeat(32));
  const request = theOne("requests", spans, ({ name }) => name === "POST /oauth/token");
  expect([request.role, request.parentSpanId]).toEqual(["front", "b".repeat(16)]);
  const call = theOne("calls", spans, ({ name, role }) => name === "core.token" && role === "front");
  expect([call.kind, call.parentSpanId]).toEqual([CLIENT, request.spanId]);
  const answered = theOne("served calls", spans, ({ name, role }) => name === "core.token" && role === "core");
  expect([answered.kind, answered.parentSpanId]).toEqual([SERVER, call.spanId]);
  const statements = spans.filter(({ role, name }) => role === "core" && name !== "core.token");
  expect(statements.length).toBeGreaterThan(0);
  expect(collector.spans().filter(({ traceId }) => traceId === "c".repeat(32))).toEqual([]);

  const metrics = collector.metrics();
  expect(metrics.filter(({ role }) => role === "front").map(({ name }) => name)).toEqual(expect.arrayContaining(served));
  const issued = theOne("issued tokens", metrics, ({ name, role }) => name === "countersign_tokens_issued_total" && role === "core");
  const points = issued.sum?.dataPoints.filter(({ attributes }) => attributesOf(attributes).grant === "client_credentials");
  expect(points).toMatchObject([{ asDouble: 2 }]);
  expect(new Set(metrics.map(({ instance }) => instance)).size).toBe(2);
});

test("failed background work is logged with its name", async () => {
  const server = await startServer({
    env: { AUDIT_STREAM: "http://127.0.0.1:1/", AUDIT_STREAM_SECRET: "a-secret-of-at-least-32-characters", LOG_LEVEL: "warn" },
  });
  const works = () => server.logged.map((line) => JSON.parse(line)).filter(({ event }) => event === "background_work_failed");
  await vi.waitFor(() => expect(works()).toContainEqual(expect.objectContaining({ work: "audit_stream" })), 20_000);
  await server.close();
});

test("failed background work of every kind is counted by its name", async () => {
  const server = await startServer({ shape: "one" });
  const renamed = (from: string, to: string) => runText(server.database.sql, `alter table ${from} rename to ${to}`);
  try {
    for (const table of ["logout_deliveries", "audit_links"]) await renamed(table, `${table}_away`);
    const served = async () => (await fetch(`${server.url}/metrics`)).text();
    for (const work of ["logout", "audit_seal"])
      await vi.waitFor(async () => expect(await served()).toContain(`countersign_background_failures_total{work="${work}"}`), 20_000);
  } finally {
    for (const table of ["logout_deliveries", "audit_links"]) await renamed(`${table}_away`, table);
    await server.close();
  }
});

test.for([
  ["metrics", "OTEL_TRACES_EXPORTER"],
  ["traces", "OTEL_METRICS_EXPORTER"],
] as const)("the log says why the collector took no %s", async ([, without]) => {
  const { env } = await aCollector();
  const wrong = { OTEL_EXPORTER_OTLP_HEADERS: "x-key=wrong", OTEL_METRIC_EXPORT_INTERVAL: "1000", [without]: "none" };
  const server = await startServer({ env: { ...env, ...wrong }, shape: "one" });
  onTestFinished(() => server.close());
  await server.get("/health");
  const code = () => /"code":"(\w+)","event":"telemetry_not_sent"/.exec(server.logged.join())?.[1];
  await expect.poll(code).toBe("status_401"); // spans are sent after five seconds
});
