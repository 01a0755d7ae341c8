/**
 * The client under test of the MCP conformance suite: the MCP SDK's client over the `fetch` of the agent library. The suite starts it with the URL of
 * a server, the name of the scenario and what a client would have been configured with.
 */
import { type Access, type Agent, agent, clientSecret, privateKey, publicClient, workloadToken } from "@countersign/agent";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const REDIRECT = "http://127.0.0.1:9876/callback";
const serverUrl = process.argv.at(-1) ?? "";
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}") as Readonly<Record<string, string>>;
const member = (name: string): string => {
  const value = context[name];
  if (value === undefined) throw new Error(`the scenario has no ${name}`);
  return value;
};

/** The authorization server of the scenario, which an agent is configured with. */
async function issuerOf(resource: string): Promise<string> {
  const { origin, pathname } = new URL(resource);
  const response = await fetch(`${origin}/.well-known/oauth-protected-resource${pathname}`);
  const { authorization_servers: servers } = (await response.json()) as { authorization_servers: [string] };
  return servers[0];
}

const issuer = await issuerOf(serverUrl);
const known = (credential: Parameters<typeof agent>[0]["credential"]): Agent =>
  agent({ issuer, clientId: member("client_id"), credential });

/** Signs in by a browser that allows everything at once. */
async function signedIn(): Promise<Access> {
  const app = agent({ issuer, clientId: "conformance", credential: publicClient(), dpop: "required" });
  const { url, finish } = await app.signIn({ resource: serverUrl, redirectUri: REDIRECT });
  const response = await fetch(url, { redirect: "manual" });
  return finish(response.headers.get("location") ?? "");
}

const SCENARIOS: Readonly<Record<string, () => Access | Promise<Access>>> = {
  "auth/client-credentials-basic": () => known(clientSecret(member("client_secret"))),
  "auth/client-credentials-jwt": () => known(privateKey(member("private_key_pem"))),
  "auth/wif-jwt-bearer": () => known(workloadToken(() => member("valid_jwt"), { use: "grant" })),
  "auth/enterprise-managed-authorization": () => {
    const provider = agent({ issuer: member("idp_issuer"), clientId: member("idp_client_id"), credential: publicClient() });
    const application = known(clientSecret(member("client_secret")));
    return application.withAssertion(({ resource = "" }) =>
      provider.assertionFor(issuer, { token: member("idp_id_token"), tokenType: "id_token", resource }),
    );
  },
  "auth/dpop": signedIn,
  "auth/dpop-nonce": signedIn,
};

const access = await SCENARIOS[process.env.MCP_CONFORMANCE_SCENARIO ?? ""]?.();
if (access === undefined) throw new Error("unknown scenario");
const client = new Client({ name: "agent", version: "1" });
await client.connect(new StreamableHTTPClientTransport(new URL(serverUrl), { fetch: access.fetch }));
await client.listTools();
await client.callTool({ name: "test-tool", arguments: {} });
await client.close();
