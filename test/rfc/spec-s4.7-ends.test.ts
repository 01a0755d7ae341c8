import { describe, expect } from "vitest";
import { operatorAt } from "../support/admin.ts";
import { test } from "../support/delegation.ts";
import { authorizePath } from "../support/pages-server.ts";

describe("delegations after a change of their user, client or grant", () => {
  test("stay revoked when a disabled user is enabled again", async ({ server }) => {
    const { user, accessTokens } = await server.chainOf(["agent-1"]);
    const { users } = await operatorAt(server.url);
    await users.disable.mutate({ id: user.id });
    await users.enable.mutate({ id: user.id });
    expect(await Promise.all(accessTokens.map(server.active))).toEqual([false, false]);
    expect((await user.browser.follow("/account")).url).toBe(`${server.url}/login`);
  });

  test("are inactive while the client is disabled, and active when it is enabled again", async ({ server }) => {
    const { accessTokens } = await server.chainOf(["agent-2"]);
    const { clients } = await operatorAt(server.url);
    const id = (await clients.list.query({ search: "agent-2" })).clients[0]?.id ?? "";
    await clients.update.mutate({ id, patch: { enabled: false } });
    expect(await Promise.all(accessTokens.map(server.active))).toEqual([true, false]);
    await clients.update.mutate({ id, patch: { enabled: true } });
    expect(await Promise.all(accessTokens.map(server.active))).toEqual([true, true]);
  });

  test("stay revoked when another client is registered with the client_id of a deleted agent", async ({ server }) => {
    const { accessTokens } = await server.chainOf(["agent-3", "agent-4"]);
    const { clients } = await operatorAt(server.url);
    const { id, clientId, grantTypes, scopes } = (await clients.list.query({ search: "agent-3" })).clients[0]!;
    await clients.delete.mutate({ id });
    expect(await Promise.all(accessTokens.map(server.active))).toEqual([true, false, false]);
    const heir = { name: "Heir", clientId, grantTypes: [...grantTypes], scopes: [...scopes] };
    await clients.create.mutate({ ...heir, isAgent: true, maxAgentMode: "exec" });
    expect(await Promise.all(accessTokens.map(server.active))).toEqual([true, false, false]);
    expect((await server.exchange("agent-4", accessTokens[1]!)).body.error).toBe("invalid_request");
  });

  test("stay active when the client is no longer an agent, but new exchanges are refused", async ({ server }) => {
    const { accessTokens } = await server.chainOf(["agent-5"]);
    const { clients } = await operatorAt(server.url);
    const id = (await clients.list.query({ search: "agent-5" })).clients[0]?.id ?? "";
    await clients.update.mutate({ id, patch: { isAgent: false, maxAgentMode: null, grantTypes: ["client_credentials"] } });
    expect((await server.exchange("agent-5", accessTokens[0]!)).status).toBe(400);
    expect(await server.active(accessTokens[1]!)).toBe(true);
  });

  test("are revoked with the grant that is cut, but the consent stays, and the application gets a new code without a page", async ({
    server,
  }) => {
    const { user, accessTokens } = await server.chainOf(["agent-1"]);
    const { delegations } = await operatorAt(server.url);
    const [held] = (await delegations.list.query({ userId: user.id })).delegations;
    await delegations.cut.mutate({ kind: "grant", id: held?.grantId ?? "" });
    expect(await server.active(accessTokens[0]!)).toBe(false);
    const again = { redirect_uri: server.clients.web.redirectUri, scope: "openid crm:read", resource: "agent-1" };
    const answer = await user.browser.follow(authorizePath(again));
    expect(answer.url).toMatch(/[?&]code=/);
  });
});
