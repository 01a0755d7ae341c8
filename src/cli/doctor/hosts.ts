import { type Finding, findingsAbout } from "./finding.ts";
import { metadataOf, registrationIsOpen, type ServerObservations } from "./server.ts";
import { stringsOf } from "./web.ts";

/** How an MCP host becomes a client, and where users return to. */
interface Host {
  readonly name: string;
  /** Whether it uses a client ID metadata document where they are offered. All hosts register themselves otherwise. */
  readonly document: boolean;
  readonly redirect: string;
}

/** @see docs/clients/compatibility.md#mcp-hosts */
export const HOSTS: readonly Host[] = [
  { name: "Claude", document: true, redirect: "https://claude.ai/api/mcp/auth_callback" },
  { name: "Claude Code", document: true, redirect: "http://localhost:<port>/callback" },
  { name: "ChatGPT", document: true, redirect: "https://chatgpt.com/connector/oauth/<id>" },
  { name: "VS Code", document: true, redirect: "http://127.0.0.1:<port>/ and https://vscode.dev/redirect" },
  { name: "Cursor", document: false, redirect: "http://localhost:8787/callback or cursor://anysphere.cursor-mcp/oauth/callback" },
  { name: "Copilot CLI", document: false, redirect: "http://127.0.0.1:<port>/" },
  { name: "opencode", document: true, redirect: "http://127.0.0.1:19876/mcp/oauth/callback" },
];

/** What each of today's MCP hosts will meet at an authorization server. Pure. */
export function hostFindings(observations: ServerObservations): readonly Finding[] {
  const metadata = metadataOf(observations);
  if (metadata === undefined) return [];
  const { ok, warning, fault } = findingsAbout(`MCP hosts at ${observations.issuer}`);
  const challenge = stringsOf(metadata.code_challenge_methods_supported)?.includes("S256") === true;
  const documents = metadata.client_id_metadata_document_supported === true;
  const registration = registrationIsOpen(observations);
  const publicClients = stringsOf(metadata.token_endpoint_auth_methods_supported)?.includes("none") === true;
  return HOSTS.map(({ name, document, redirect }) => {
    const check = `host_${name.toLowerCase().replaceAll(" ", "_")}`;
    if (!challenge) return fault(check, `${name} refuses a server without PKCE S256`, "list S256 in code_challenge_methods_supported");
    const by = document && documents ? "by its metadata document" : registration ? "by registering itself" : undefined;
    if (by === undefined) {
      const change = `register a client for it by hand, with the redirect URI ${redirect}, and enter its client_id there`;
      return warning(check, `${name} cannot become a client by itself`, change);
    }
    if (!publicClients && !redirect.startsWith("https:"))
      return warning(check, `${name} has no secret, and clients without one are not offered`, "offer token_endpoint_auth_method none");
    return ok(check, `${name} can connect ${by}; redirects to ${redirect}`);
  });
}
