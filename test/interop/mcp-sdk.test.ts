import { Client, DpopSession, StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client";
import { expect } from "vitest";
import { startNotesServer } from "../../examples/mcp-server/server.ts";
import { agentHost, type StoredByHost } from "../support/agent-host.ts";
import { claimsOf } from "../support/flow.ts";
import { describe, test } from "../support/server.ts";

describe("the client of the MCP TypeScript SDK", () => {
  test("discovers the server, registers, is authorized by a user, calls a tool and refreshes its token", async ({ server }) => {
    const notes = await startNotesServer({ issuer: server.url });
    try {
      const { provider, stored, opened } = agentHost();
      const transport = () => new StreamableHTTPClientTransport(new URL(notes.resource), { authProvider: provider });

      const first = transport();
      await expect(new Client({ name: "interop", version: "1" }).connect(first)).rejects.toThrow(UnauthorizedError);
      const asked = opened[0];
      expect(asked?.searchParams.get("resource")).toBe(notes.resource);
      expect(asked?.searchParams.get("code_challenge_method")).toBe("S256");

      const { browser, id } = await server.signedInUser();
      const page = await browser.follow(asked?.href ?? "");
      const back = await browser.submit(page, { decision: "approve" });
      await first.finishAuth(new URL(back.url).searchParams);

      const client = new Client({ name: "interop", version: "1" });
      await client.connect(transport());
      const { tools } = await client.listTools();
      expect(tools.length).toBeGreaterThan(0);
      const claims = claimsOf(stored.tokens?.access_token ?? "");
      expect(claims).toMatchObject({ sub: id, aud: notes.resource });
      await client.close();

      const refreshToken = stored.tokens?.refresh_token;
      expect(refreshToken).toMatch(/^[0-9a-f]{64}$/);
      stored.tokens = { ...(stored.tokens as NonNullable<StoredByHost["tokens"]>), access_token: "worn-out" };
      const again = new Client({ name: "interop", version: "1" });
      await again.connect(transport());
      expect((await again.listTools()).tools).toEqual(tools);
      expect(stored.tokens?.refresh_token).not.toBe(refreshToken);
      expect(opened).toHaveLength(1);
      await again.close();
    } finally {
      await notes.close();
    }
  });

  test("RFC 9449: calls a tool of a server that requires bound tokens; a copied token is useless", async ({ server }) => {
    const notes = await startNotesServer({ issuer: server.url, dpop: "required" });
    try {
      const { provider, stored, opened } = agentHost();
      const session = await DpopSession.create();
      const transport = () =>
        new StreamableHTTPClientTransport(new URL(notes.resource), { authProvider: { ...provider, dpop: () => session } });
      const first = transport();
      await expect(new Client({ name: "interop", version: "1" }).connect(first)).rejects.toThrow(UnauthorizedError);
      const { browser } = await server.signedInUser();
      const back = await browser.submit(await browser.follow(opened[0]?.href ?? ""), { decision: "approve" });
      await first.finishAuth(new URL(back.url).searchParams);
      const token = stored.tokens?.access_token ?? "";
      expect(claimsOf(token).cnf).toEqual({ jkt: session.thumbprint });

      const client = new Client({ name: "interop", version: "1" });
      await client.connect(transport());
      expect((await client.callTool({ name: "list_notes", arguments: {} })).content).toEqual([{ type: "text", text: "[]" }]);
      await client.close();
      const copied = await fetch(notes.resource, { method: "POST", headers: { authorization: `Bearer ${token}` } });
      expect([copied.status, copied.headers.get("www-authenticate")]).toEqual([401, expect.stringMatching(/^DPoP error="invalid_token"/)]);
    } finally {
      await notes.close();
    }
  });
});
