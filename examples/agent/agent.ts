import type { Agent } from "@countersign/agent";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

export interface Task {
  /** The access token that the agent was handed, of the user for whom it is to work. */
  readonly subjectToken: string;
  /** The MCP server on which it works. */
  readonly resource: string;
}

/**
 * Reads the notes of a user, in that user's name. The token that the agent was handed goes to the authorization server and to no one else.
 * @throws {AgentError} when the authorization server refuses or is away
 */
export async function summarize(agent: Agent, { subjectToken, resource }: Task) {
  const { fetch } = agent.onBehalfOf(subjectToken, { resource, scope: "notes:read" });
  const client = new Client({ name: "summary-agent", version: "0.1.0" });
  await client.connect(new StreamableHTTPClientTransport(new URL(resource), { fetch }));
  try {
    const notes = await call<readonly string[]>(client, "list_notes");
    const { sub, actors } = await call<{ sub: string; actors: readonly string[] }>(client, "who_am_i");
    return { user: sub, actors, notes: notes.length, longest: Math.max(0, ...notes.map((note) => note.length)) };
  } finally {
    await client.close();
  }
}

async function call<T>(client: Client, name: string): Promise<T> {
  const { content } = await client.callTool({ name, arguments: {} });
  const [first] = content;
  if (first?.type !== "text") throw new Error(`${name} answered no text`);
  return JSON.parse(first.text) as T; // as the tools of examples/mcp-server answer
}
