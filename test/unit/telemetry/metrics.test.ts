import { expect, test } from "vitest";
import { createMetrics } from "../../../src/telemetry/metrics.ts";

const seriesOf = (text: string) =>
  text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => line.slice(0, line.lastIndexOf(" ")));

const metrics = () => createMetrics(new Set(["/oauth/token", "/health"]), ["client_credentials", "refresh_token", "login"]);

test("requests are counted by route, method and status", async () => {
  const m = metrics();
  m.httpRequest("/oauth/token", "POST", 200, 0.004);
  m.httpRequest("/oauth/token", "POST", 200, 0.004);
  const text = await m.text();
  expect(text).toContain('countersign_http_requests_total{route="/oauth/token",method="POST",status="200"} 2');
  expect(text).toContain('countersign_http_request_duration_seconds_bucket{le="0.005",route="/oauth/token"} 2');
});

test("authentications, tokens and refusals are counted", async () => {
  const m = metrics();
  m.authentication("token", "failure", "secret_wrong");
  m.authentication("login", "success");
  m.tokenIssued("refresh_token");
  m.refusal("invalid_grant");
  const text = await m.text();
  expect(text).toContain('countersign_authentications_total{surface="token",outcome="failure",reason="secret_wrong"} 1');
  expect(text).toContain('countersign_authentications_total{surface="login",outcome="success",reason="none"} 1');
  expect(text).toContain('countersign_tokens_issued_total{grant="refresh_token"} 1');
  expect(text).toContain('countersign_refusals_total{code="invalid_grant"} 1');
});

test("process metrics are included", async () => {
  expect(await metrics().text()).toMatch(/^process_cpu_seconds_total /m);
});

test("10,000 random routes and reasons add no series", async () => {
  const m = metrics();
  const flood = (round: number) => {
    for (let i = 0; i < 10_000; i++) {
      const noise = `x${round}_${i}`;
      m.httpRequest(`/${noise}`, "GET", 404, 0.001);
      m.authentication("token", "failure", `No word: ${noise}`);
      m.authentication("token", "failure", noise);
    }
  };
  flood(0);
  const before = seriesOf(await m.text());
  flood(1);
  const after = seriesOf(await m.text());
  expect(after.sort()).toEqual(before.sort());
  expect(after.length).toBeLessThan(1000);
});
