import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { type AgentIdentity, tokenOnBehalf } from "./exchange.ts";
import { answerOf } from "./reason.ts";

export interface Errand extends AgentIdentity {
  /** The access token that the agent was handed, of the user for whom it is to work. */
  readonly subjectToken: string;
  /** The MCP server on which it works. */
  readonly resource: string;
}

/**
 * What the agent does for a user: it exchanges the token that it was handed, and reads the user's notes with its own.
 * The token that it was handed goes to the authorization server and to no one else.
 * @throws when the authorization server or the MCP server refuses or is away
 */
export async function runErrand({ subjectToken, resource, ...identity }: Errand) {
  const token = await tokenOnBehalf(identity, subjectToken, resource, "notes:read");
  const client = new Client({ name: "summary-agent", version: "0.1.0" });
  const transport = new StreamableHTTPClientTransport(new URL(resource), { authProvider: { token: async () => token } });
  await answerOf(resource, client.connect(transport));
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
