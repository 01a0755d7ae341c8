import * as grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { test as base } from "vitest";
import { statement } from "../../src/store/sql.ts";
import { type Answer, basicAuth, type ServerDriver, type TestClient } from "./flow.ts";
import { PROVISIONED, startServer, type TestServer } from "./server.ts";

export const ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token";
export const ID_JAG = "urn:ietf:params:oauth:token-type:id-jag";
export const TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
export const CRM = "https://crm.example.test/mcp";
/** A resource without a path; URL parsers add the root path. */
export const ROOT = "https://root.example.test";
export const MAIL = "https://mail.example.test/mcp";

const SCOPES = ["openid", "email", "offline_access", "crm:read", "crm:write", "agent:readonly", "agent:admin", "agent:exec"];
const agent = (clientId: string, more: object = {}) => ({
  clientId,
  clientSecret: `${clientId}-secret`,
  name: clientId,
  tokenEndpointAuthMethod: "client_secret_basic",
  grantTypes: ["client_credentials", TOKEN_EXCHANGE],
  scopes: SCOPES,
  isAgent: true,
  maxAgentMode: "exec",
  ...more,
});

/** Agents of every kind, a client that users use, and a resource server. */
export const DELEGATION_CLIENTS = [
  ...PROVISIONED.clients.filter(({ clientId }) => clientId !== "web"),
  {
    ...agent("web"),
    grantTypes: ["authorization_code", "refresh_token"],
    isAgent: false,
    redirectUris: ["https://app.example.test/cb"],
  },
  agent("agent-1"),
  agent("agent-2", { maxAgentMode: "readonly" }),
  agent("agent-3"),
  agent("agent-4"),
  agent("agent-5"),
  agent("reading-agent", { scopes: ["crm:read", "agent:readonly"] }),
  agent("not-agent", { isAgent: false }),
  agent("agent-without-grant", { grantTypes: ["client_credentials"] }),
  agent("public-agent", { grantTypes: ["authorization_code", TOKEN_EXCHANGE] }),
  agent("crm-rs", { isAgent: false, grantTypes: ["client_credentials"], audience: [CRM] }),
  agent("root-rs", { isAgent: false, grantTypes: ["client_credentials"], audience: [ROOT] }),
].map((client) => ({ ...client, ...(client.clientId === "web" && { clientSecret: "web-secret", maxAgentMode: "exec" }) }));

const agentClient = (clientId: string): TestClient => ({
  clientId,
  redirectUri: "https://app.example.test/cb",
  ...(clientId !== "public-agent" && { secret: `${clientId}-secret` }),
});

/** Makes a client public directly in the database, past the rules that forbid it this grant, as an earlier release may have done. */
export const madePublic = (server: TestServer, clientId: string): Promise<unknown> =>
  server.database.sql.query(
    statement("test_made_public", "update clients set token_endpoint_auth_method = 'none', secret_hash = null where client_id = $1"),
    [clientId],
  );

/** The members of a server that the delegation helpers need. */
type Delegable = ServerDriver & Pick<TestServer, "database" | "grpc"> & { readonly clients: Pick<TestServer["clients"], "web"> };

/** Adds delegation helpers to a running server. */
export function delegating<Server extends Delegable>(server: Server) {
  const exchange = (clientId: string, subject: string, fields: Parameters<ServerDriver["token"]>[1] = {}): Promise<Answer> =>
    server.token(agentClient(clientId), {
      grant_type: TOKEN_EXCHANGE,
      subject_token: subject,
      subject_token_type: ACCESS_TOKEN,
      ...fields,
    });

  /** A user's token for these agents and two resources. */
  async function subjectFor(agents: readonly string[], fields: { scope?: string; resource?: readonly string[] } = {}) {
    const user = await server.signedInUser();
    const resource = fields.resource ?? [CRM, MAIL, ...agents];
    const scope = fields.scope ?? "openid crm:read crm:write";
    const tokens = await server.tokens(server.clients.web, user.browser, { resource, scope });
    return { user, tokens, subject: tokens.access_token as string };
  }

  /** A chain of exchanges: the user's token first, then each agent's. */
  async function chainOf(agents: readonly string[]) {
    const { user, tokens, subject } = await subjectFor(agents);
    const accessTokens = [subject];
    for (const clientId of agents) {
      const { status, body } = await exchange(clientId, accessTokens.at(-1) ?? "");
      if (status !== 200) throw new Error(`not exchanged: ${status} ${JSON.stringify(body)}`);
      accessTokens.push(body.access_token);
    }
    return { user, refreshToken: tokens.refresh_token as string, accessTokens };
  }

  const active = async (token: string): Promise<boolean> => (await server.introspect(agentClient("crm-rs"), token)).body.active;

  /** The audit records of one request. */
  const auditOf = (answer: Answer): Promise<Record<string, unknown>[]> =>
    server.database.sql.query(
      statement(
        "test_audit_of_request",
        "select event, outcome, reason, actor_id, user_id, act_chain, cardinality(act_chain) as depth, grant_type from audit_records where request_id = $1",
      ),
      [answer.headers.get("x-request-id")],
    );

  return {
    ...server,
    exchange,
    subjectFor,
    chainOf,
    active,
    auditOf,
    agent: agentClient,
    introspectOverGrpc: (clientId: string, token: string) => introspectOverGrpc(server.grpc, agentClient(clientId), token),
  };
}

/** Introspects as a resource server in another language does: with the .proto file and another gRPC library. */
async function introspectOverGrpc(address: string, { clientId, secret = "" }: TestClient, token: string): Promise<unknown> {
  const definition = loadSync("countersign/introspection/v1/introspection.proto", { keepCase: true, includeDirs: ["proto"] });
  const Service = grpc.makeGenericClientConstructor(
    definition["countersign.introspection.v1.IntrospectionService"] as grpc.ServiceDefinition,
    "",
  );
  const client = new Service(address, grpc.credentials.createInsecure());
  const metadata = new grpc.Metadata();
  metadata.set("authorization", basicAuth(clientId, secret));
  try {
    return await new Promise((resolve, reject) =>
      client.Introspect?.({ token }, metadata, (error: grpc.ServiceError | null, answer: unknown) =>
        error ? reject(error) : resolve(answer),
      ),
    );
  } finally {
    client.close();
  }
}

/** One server with agents for all tests of a file. */
// biome-ignore lint/correctness/noEmptyPattern: the runner reads from the pattern that the fixture needs no other.
export const test = base.extend("server", { scope: "file" }, async ({}, { onCleanup }) => {
  const server = await startServer({ provision: { ...PROVISIONED, clients: DELEGATION_CLIENTS } });
  onCleanup(() => server.close());
  await madePublic(server, "public-agent");
  return delegating(server);
});
