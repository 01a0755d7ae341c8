import { createServer } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { tokensByDevice } from "../../../src/cli/token/device.ts";
import { listen } from "../../support/guard-issuer.ts";
import { aTerminal } from "../../support/terminal.ts";

const STARTED = { device_code: "d", user_code: "U", verification_uri: "https://auth.example/device", expires_in: 600, interval: 5 };
const TOKENS = { access_token: "a", token_type: "Bearer" };

test("RFC 8628 §3.5: goes on polling, more slowly, after a poll that was not answered", async () => {
  const polls = ["broken", "unavailable", "pending", "tokens"];
  const server = await listen(
    createServer((request, response) => {
      const poll = request.url === "/token" ? polls.shift() : undefined;
      if (poll === "broken") return request.socket.destroy();
      const status = { unavailable: 503, pending: 400 }[poll ?? ""] ?? 200;
      const json = { pending: { error: "authorization_pending" }, tokens: TOKENS, unavailable: {} }[poll ?? ""] ?? STARTED;
      return response.writeHead(status).end(JSON.stringify(json));
    }),
  );
  const { terminal, leave } = aTerminal({ serverUrl: server.origin, email: undefined, password: undefined });
  onTestFinished(async () => {
    leave();
    await server.close();
  });
  const pauses: number[] = [];
  const endpoints = {
    authorization_endpoint: server.origin,
    token_endpoint: `${server.origin}/token`,
    device_authorization_endpoint: server.origin,
  };
  const request = { server: { issuer: server.origin, ...endpoints }, clientId: "c", scope: undefined, resources: [] };
  expect(await tokensByDevice(request, terminal, async (seconds) => void pauses.push(seconds))).toEqual(TOKENS);
  expect(pauses).toEqual([5, 10, 15, 15]);
});
