import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { registerExportCommand } from "../../src/cli/export.ts";
import { parseProvisionFile } from "../../src/management/provision.ts";
import { operatorAt } from "../support/admin.ts";
import { OPERATOR, startServer, type TestServer } from "../support/server.ts";
import { aTerminal } from "../support/terminal.ts";

// docs/provisioning.md#exporting

let here: TestServer;
let elsewhere: TestServer;
beforeAll(async () => {
  [here, elsewhere] = await Promise.all([startServer(), startServer()]);
});
afterAll(() => Promise.all([here.close(), elsewhere.close()]));

const OWNER = { email: "owner@example.test", password: "a password for one test" };
const ISSUER = "https://platform.example.test";
const LOGO = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><path d="M0 0h1v1z"/></svg>').toString("base64");

async function exported(server: TestServer) {
  const terminal = aTerminal({ serverUrl: server.url, ...OPERATOR });
  const { out, err, code } = await terminal.run([registerExportCommand], ["export"]);
  terminal.leave();
  return { out, err, code };
}

/** One of everything that a file can hold, and of what it cannot. */
async function furnish(): Promise<void> {
  const operator = await operatorAt(here.url);
  const { id: ownerId } = await operator.users.create.mutate(OWNER);
  const { id: realmId } = await operator.realms.create.mutate({ name: "Lisbon" });
  await operator.realms.setBranding.mutate({ id: realmId, branding: { name: "Acme", accent: "#0044aa", logo: LOGO } });
  await operator.realms.setRequiredAcr.mutate({ id: realmId, requiredAcr: "phr" });
  await operator.realms.update.mutate({ id: realmId, dynamicRegistrationScopes: ["openid"] });
  await operator.workloadIssuers.create.mutate({ issuer: ISSUER, kind: "oidc", maxLifetime: 600 });
  const job = { grantTypes: ["client_credentials" as const], scopes: ["pay:read"] };
  await operator.clients.create.mutate({ ...job, clientId: "job", name: "Job", tokenEndpointAuthMethod: "workload_jwt", isAgent: true });
  await operator.workloadIdentities.add.mutate({ clientId: "job", issuer: ISSUER, subject: "repo:a", claims: { ref: "main" } });
  const pushed = { requirePushedAuthorizationRequests: true, audience: ["https://pay.example.test/mcp"], enabled: false };
  await operator.clients.create.mutate({ ...job, ...pushed, clientId: "owned", name: "Owned", ownerId });
  await operator.clients.create.mutate({ ...job, clientId: "keyless", name: "Keyless", tokenEndpointAuthMethod: "private_key_jwt" });
  await operator.scopes.set.mutate({ name: "pay:read", title: { en: "Read pay" }, realmId });
  const scopes = [{ name: "pay:read", title: { de: "Gehalt lesen" }, stepUp: { acr: "phr" as const, maxAge: 300 } }];
  await operator.resources.create.mutate({ resource: "https://pay.example.test/mcp", name: "Pay", scopes, accessTokenLifetime: 60 });
  await operator.connections.create.mutate({ preset: "google", clientId: "g", clientSecret: "not in the file" });
}

describe("countersign export", () => {
  test("prints a file that changes nothing here, and makes the same on another server", async () => {
    await furnish();
    const registered = await fetch(`${here.url}/oauth/register`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ redirect_uris: ["https://self.example.test/cb"], client_name: "Self" }),
    });
    expect(registered.ok).toBe(true);
    const { out, err, code } = await exported(here);
    expect([code, err.trimEnd().split("\n")]).toEqual([
      0,
      [
        "Left out: clients that registered themselves (1).",
        "Left out: the client keyless, which has no key yet.",
        "Left out: connections to identity providers (1), which need their secrets: countersign connections list --json",
      ],
    ]);
    expect(out).not.toMatch(/not in the file|countersign-cli|[Ss]ecret(?!_)/);
    const file = parseProvisionFile(out);
    expect(await (await operatorAt(here.url)).previewProvision.mutate(file)).toEqual([]);

    const other = await operatorAt(elsewhere.url);
    await other.users.create.mutate(OWNER);
    const made = await other.provision.mutate(file);
    expect(made).toMatchObject({
      realms: { created: 1 },
      workloadIssuers: { created: 1 },
      clients: { created: 2 },
      resources: { created: 1 },
    });
    expect(await exported(elsewhere)).toEqual({ code: 0, err: "", out });
  });

  test("what was changed since is set back by the file, and is what its dry run names", async () => {
    const operator = await operatorAt(here.url);
    const before = parseProvisionFile((await exported(here)).out);
    const { clients } = await operator.clients.list.query({ search: "owned" });
    await operator.clients.update.mutate({ id: clients[0]?.id ?? "", patch: { scopes: [], ownerId: null, audience: null, enabled: true } });
    const changes = await operator.previewProvision.mutate(before);
    expect(changes.map(({ entry, members }) => [entry, members.map(({ member }) => member).toSorted()])).toEqual([
      ["owned", ["audience", "enabled", "ownerId", "scopes"]],
    ]);
    await operator.provision.mutate(before);
    expect(parseProvisionFile((await exported(here)).out)).toEqual(before);
  });

  test("is for operators", async () => {
    const terminal = aTerminal({ serverUrl: here.url, ...OWNER });
    const { out, code } = await terminal.run([registerExportCommand], ["export"]);
    terminal.leave();
    expect([out, code]).toEqual(["", 1]);
  });
});
