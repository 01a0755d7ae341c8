import type { Guard } from "@countersign/guard";
import { principalOf, toolScopes } from "@countersign/guard/mcp";
import { McpServer, type ServerContext } from "@modelcontextprotocol/server";
import { z } from "zod";
import type { Notebook } from "./notes.ts";

/**
 * The MCP server: who may enter has been decided before it is reached, and `scopeChallenge` says which tools need more
 * than that. Notes belong to the user of the token, whichever agent acts for that user.
 */
export function notesServer(guard: Guard, notes: Notebook): McpServer {
  const server = new McpServer({ name: "notes", version: "0.1.0" });
  const caller = (context: ServerContext) => principalOf(context.http?.authInfo);

  server.registerTool("list_notes", { description: "All of your notes" }, (context) => answer(notes.of(caller(context).sub)));

  server.registerTool(
    "add_note",
    {
      description: "Keeps a note for you",
      inputSchema: z.object({ text: z.string().min(1).max(2000) }),
      scopeChallenge: toolScopes(guard, ["notes:write"]),
    },
    ({ text }, context) => {
      const { sub } = caller(context);
      notes.add(sub, text);
      return answer({ added: text, count: notes.of(sub).length });
    },
  );

  server.registerTool("who_am_i", { description: "For whom, by whom and with which rights you call" }, (context) => {
    const { sub, clientId, scopes, actors } = caller(context);
    return answer({ sub, clientId, scopes, actors });
  });

  return server;
}

const answer = (value: unknown) => ({ content: [{ type: "text" as const, text: JSON.stringify(value) }] });
