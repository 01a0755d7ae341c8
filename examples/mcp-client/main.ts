import {
  Client,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import { listenForBrowser } from "./callback.ts";

/** An MCP server, guarded. The client knows nothing else: it finds the authorization server, and registers itself there. */
const RESOURCE = process.env.RESOURCE || "http://localhost:4000/mcp"; // an empty variable counts as unset
const resource = URL.parse(RESOURCE);
if (resource === null) {
  console.error(`RESOURCE must be the URL of an MCP server, such as http://localhost:4000/mcp; it is ${RESOURCE}`);
  process.exit(1);
}

const browser = await listenForBrowser();
/** What the SDK has to remember between the steps. A real client stores it, so that its user signs in once. */
const kept: {
  client?: Parameters<NonNullable<OAuthClientProvider["saveClientInformation"]>>[0];
  tokens?: Parameters<OAuthClientProvider["saveTokens"]>[0];
  verifier?: string;
  discovery?: OAuthDiscoveryState;
} = {};
const authProvider: OAuthClientProvider = {
  redirectUrl: browser.redirectUri,
  clientMetadata: {
    client_name: "Example client",
    redirect_uris: [browser.redirectUri],
    grant_types: ["authorization_code", "refresh_token"],
    token_endpoint_auth_method: "none",
  },
  state: browser.newState,
  clientInformation: () => kept.client,
  saveClientInformation: (client) => {
    kept.client = client;
  },
  tokens: () => kept.tokens,
  saveTokens: (tokens) => {
    kept.tokens = tokens;
  },
  saveCodeVerifier: (verifier) => {
    kept.verifier = verifier;
  },
  codeVerifier: () => kept.verifier ?? "",
  saveDiscoveryState: (discovery) => {
    kept.discovery = discovery;
  },
  discoveryState: () => kept.discovery,
  redirectToAuthorization: browser.open,
};

/** Does `work`; where the user is asked first, does it again when they have answered. */
async function asUser<Result>(work: () => Promise<Result>, transport: () => StreamableHTTPClientTransport): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
    // The whole answer, so that the SDK checks its `iss` (RFC 9207).
    await transport().finishAuth(await browser.answer());
    return work();
  }
}

const newTransport = () => new StreamableHTTPClientTransport(resource, { authProvider });
let [client, transport] = [new Client({ name: "example-client", version: "1.0.0" }), newTransport()];
try {
  await asUser(
    async () => {
      [client, transport] = [new Client({ name: "example-client", version: "1.0.0" }), newTransport()];
      await client.connect(transport);
    },
    () => transport,
  );
  for (const call of [
    { name: "list_notes", arguments: {} },
    { name: "add_note", arguments: { text: "buy milk" } }, // needs another scope, for which the user is asked now
    { name: "list_notes", arguments: {} },
  ]) {
    const { content } = await asUser(
      () => client.callTool(call),
      () => transport,
    );
    console.log(`${call.name}: ${content.map((part) => (part.type === "text" ? part.text : part.type)).join(" ")}`);
  }
  await client.close();
} catch (error) {
  const isAway = error instanceof TypeError && error.message === "fetch failed";
  const away = `${resource} does not answer. Is \`npm run example:mcp-server\` running?`;
  console.error(isAway ? away : error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
} finally {
  browser.close();
}
