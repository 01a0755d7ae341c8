import { expect } from "vitest";
import { operatorAt } from "../support/admin.ts";
import { keyFor } from "../support/assertions.ts";
import { aBrowser } from "../support/browser.ts";
import { test } from "../support/server.ts";
import { startUpstream } from "../support/upstream.ts";

test("a provider's key that replaces another one under its key id is known from the second sign-in on", async ({
  server,
  onTestFinished,
}) => {
  const upstream = await startUpstream();
  onTestFinished(() => upstream.close());
  const { connections } = await operatorAt(server.url);
  await connections.create.mutate({
    name: "acme",
    title: "Acme",
    issuer: upstream.url,
    clientId: "us",
    clientSecret: "upstream-secret",
    domains: ["acme.test"],
  });
  const successor = keyFor("ES256", "upstream-key");
  const statusBy = async (signedBy = upstream.key, sentBy = upstream.url): Promise<number> => {
    const browser = aBrowser(server.url, { accept: "text/html" });
    const { url } = await browser.follow("/signin/acme");
    const claims = { email: "anna@acme.test", email_verified: true };
    const answer = new URL(upstream.signIn(url, "anna", { claims, signedBy }), server.url);
    answer.searchParams.set("iss", sentBy);
    return (await browser.follow(answer.pathname + answer.search)).status;
  };
  expect(await statusBy()).toBe(200);
  // Any browser can send this: it makes nothing be read again, or the look that is needed would be too soon after it.
  expect(await statusBy(upstream.key, "https://evil.example.test")).toBe(403);
  upstream.keys = [successor.jwk];
  expect([await statusBy(successor), await statusBy(successor), await statusBy()]).toEqual([403, 200, 403]);
});
