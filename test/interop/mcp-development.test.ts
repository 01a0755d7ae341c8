import { Client, StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client";
import { expect, onTestFinished } from "vitest";
import { startNotesServer } from "../../examples/mcp-server/server.ts";
import { agentHost } from "../support/agent-host.ts";
import { claimsOf } from "../support/flow.ts";
import { testOn } from "../support/server.ts";

testOn({ env: { NODE_ENV: "development", LOG_LEVEL: "info", DEFAULT_DYNAMIC_REGISTRATION_SCOPES: "openid profile email offline_access" } })(
  "in development the MCP SDK's client registers itself, signs in, calls a tool and steps up without one setting",
  async ({ server }) => {
    const notes = await startNotesServer({ issuer: server.url });
    onTestFinished(notes.close);
    const { provider, stored, opened } = agentHost();
    const { browser } = await server.signedInUser();
    const transport = () => new StreamableHTTPClientTransport(new URL(notes.resource), { authProvider: provider });
    const authorize = async (refused: StreamableHTTPClientTransport) => {
      const page = await browser.follow(opened.at(-1)?.href ?? "");
      expect(page.html).toContain("Notes (localhost:");
      const { url } = await browser.submit(page, { decision: "approve" });
      await refused.finishAuth(new URL(url).searchParams);
    };

    const first = transport();
    await expect(new Client({ name: "interop", version: "1" }).connect(first)).rejects.toThrow(UnauthorizedError);
    await authorize(first);
    const client = new Client({ name: "interop", version: "1" });
    const second = transport();
    await client.connect(second);
    expect((await client.callTool({ name: "list_notes", arguments: {} })).content).toEqual([{ type: "text", text: "[]" }]);
    const addNote = () => client.callTool({ name: "add_note", arguments: { text: "buy milk" } });
    await expect(addNote()).rejects.toThrow(UnauthorizedError);
    await authorize(second);
    expect(claimsOf(stored.tokens?.access_token ?? "").scope.split(" ")).toEqual(expect.arrayContaining(["notes:read", "notes:write"]));
    expect((await addNote()).content).toEqual([{ type: "text", text: JSON.stringify({ added: "buy milk", count: 1 }) }]);
    await client.close();
  },
);
