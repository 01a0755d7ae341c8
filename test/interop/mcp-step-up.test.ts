import { Client, StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client";
import { afterAll, expect, onTestFinished } from "vitest";
import { startNotesServer } from "../../examples/mcp-server/server.ts";
import { agentHost, HOST_REDIRECT } from "../support/agent-host.ts";
import { claimsOf } from "../support/flow.ts";
import { publisher } from "../support/publisher.ts";
import { testOn } from "../support/server.ts";

const site = await publisher();
afterAll(() => site.close());
const DOCUMENT = `https://localhost:${site.port}/host.json`;
site.serveJson({
  client_id: DOCUMENT,
  client_name: "Interop host",
  redirect_uris: [HOST_REDIRECT],
  grant_types: ["authorization_code", "refresh_token"],
  token_endpoint_auth_method: "none",
});

const HOSTS = [
  ["with a metadata document", DOCUMENT],
  ["with dynamic registration and DYNAMIC_CLIENT_SCOPE=realm", undefined],
] as const;

const scopesOf = (token = ""): readonly string[] => claimsOf(token).scope.split(" ");
const WIDER = expect.arrayContaining(["notes:read", "notes:write"]);

testOn({ env: { DYNAMIC_CLIENT_SCOPE: "realm" } }).for(HOSTS)(
  "the MCP SDK's client of a host %s steps up: after insufficient_scope it requests the wider scope from its user, and the tool succeeds",
  async ([, document], { server }) => {
    const notes = await startNotesServer({ issuer: server.url });
    onTestFinished(notes.close);
    const { provider, stored, opened } = agentHost(document);
    const { browser } = await server.signedInUser();
    const transport = () => new StreamableHTTPClientTransport(new URL(notes.resource), { authProvider: provider });
    /** Approves the authorization request that the host opened last, and returns the response to the host. */
    const authorize = async (refused: StreamableHTTPClientTransport) => {
      const page = await browser.follow(opened.at(-1)?.href ?? "");
      const { url } = await browser.submit(page, { decision: "approve" });
      await refused.finishAuth(new URL(url).searchParams);
    };

    const first = transport();
    await expect(new Client({ name: "interop", version: "1" }).connect(first)).rejects.toThrow(UnauthorizedError);
    await authorize(first);
    expect(scopesOf(stored.tokens?.access_token)).not.toContain("notes:write");

    const client = new Client({ name: "interop", version: "1" });
    const second = transport();
    await client.connect(second);
    expect((await client.callTool({ name: "list_notes", arguments: {} })).content).toEqual([{ type: "text", text: "[]" }]);
    const addNote = () => client.callTool({ name: "add_note", arguments: { text: "buy milk" } });
    await expect(addNote()).rejects.toThrow(UnauthorizedError);
    expect(opened[1]?.searchParams.get("scope")?.split(" ")).toEqual(WIDER);
    await authorize(second);
    expect(scopesOf(stored.tokens?.access_token)).toEqual(WIDER);
    expect((await addNote()).content).toEqual([{ type: "text", text: JSON.stringify({ added: "buy milk", count: 1 }) }]);
    expect(opened).toHaveLength(2);
    await client.close();
  },
);
