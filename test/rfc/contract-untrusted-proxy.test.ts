import { Command } from "commander";
import { expect, onTestFinished, test } from "vitest";
import { registerDoctorCommand } from "../../src/cli/doctor/command.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { aTerminal } from "../support/terminal.ts";

const started = async (env: Record<string, string> = {}): Promise<TestServer> => {
  const server = await startServer({ env });
  onTestFinished(() => server.close());
  return server;
};

/** The output of `countersign doctor` for a server. */
async function doctor(server: TestServer): Promise<string> {
  const { terminal, said, leave } = aTerminal({ serverUrl: server.url, email: undefined, password: undefined });
  onTestFinished(leave);
  const program = new Command();
  registerDoctorCommand(program, terminal, () => undefined);
  await program.parseAsync(["doctor", server.url], { from: "user" });
  return said.out;
}

const warnings = (server: TestServer) => server.logged.filter((line) => line.includes("forwarded_headers_ignored"));

test.for(["Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP"])(
  "%s is logged once while TRUST_PROXY is off, and doctor warns",
  async (header) => {
    const server = await started();
    expect(warnings(server)).toEqual([]);
    expect(await doctor(server)).not.toContain("TRUST_PROXY");
    for (let count = 0; count < 3; count += 1) await fetch(`${server.url}/health`, { headers: { [header]: "for=192.0.2.7" } });
    expect(warnings(server)).toEqual([expect.stringContaining('"setting":"TRUST_PROXY"')]);
    expect(await doctor(server)).toMatch(/^warning +requests arrive through a proxy, but TRUST_PROXY is off/m);
  },
);

test("forwarded headers cause no warning while TRUST_PROXY is on", async () => {
  const server = await started({ TRUST_PROXY: "true" });
  await fetch(`${server.url}/health`, { headers: { "X-Forwarded-For": "192.0.2.7" } });
  expect(warnings(server)).toEqual([]);
  expect(await doctor(server)).not.toContain("TRUST_PROXY is off");
});

test("each request with such a header is counted once, whatever answers it", async () => {
  const server = await started();
  const introspection = `${server.url}/countersign.introspection.v1.IntrospectionService/IntrospectBatch`;
  const headers = { "content-type": "application/json", "x-forwarded-for": "192.0.2.7" };
  const large = JSON.stringify({ requests: [{ token: "x".repeat(40_000) }, { token: "y".repeat(40_000) }] });
  await fetch(introspection, { method: "POST", headers, body: large });
  await fetch(introspection, { headers });
  await fetch(`${server.url}/oauth/token`, { method: "POST", headers });
  await fetch(`${server.url}/nowhere`, { headers });
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  expect(metrics).toMatch(/^countersign_forwarded_headers_ignored_total 4$/m);
});
