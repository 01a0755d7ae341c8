import type { HttpAnswer } from "./answer.ts";
import type { DpopUse } from "./credentials.ts";
import { PROOF_ALGORITHMS } from "./proof-key.ts";
import { advertisedScopes } from "./scopes.ts";

const WELL_KNOWN = "/.well-known/oauth-protected-resource";

/** The protected resource metadata document. @see RFC 9728 §2 */
export interface ResourceMetadata {
  readonly resource: string;
  readonly authorization_servers: readonly string[];
  readonly bearer_methods_supported: readonly ["header"];
  readonly scopes_supported?: readonly string[];
  readonly resource_name?: string;
  readonly resource_documentation?: string;
  readonly dpop_signing_alg_values_supported?: readonly string[];
  readonly dpop_bound_access_tokens_required?: true;
}

export interface MetadataSource {
  readonly resource: string;
  readonly authorizationServers: readonly string[];
  readonly scopesSupported: readonly string[];
  readonly resourceName?: string | undefined;
  readonly resourceDocumentation?: string | undefined;
  readonly dpop?: DpopUse;
}

/**
 * The document of a resource, where it lives, and how it is served. `resource` goes in as it was given: clients compare it with what they
 * called.
 */
export function metadataSite(source: MetadataSource) {
  const scopes = advertisedScopes(source.scopesSupported);
  const document: ResourceMetadata = Object.freeze({
    resource: source.resource,
    authorization_servers: source.authorizationServers,
    ...(scopes.length > 0 && { scopes_supported: scopes }),
    bearer_methods_supported: ["header"] as const,
    ...(source.resourceName !== undefined && { resource_name: source.resourceName }),
    ...(source.resourceDocumentation !== undefined && { resource_documentation: source.resourceDocumentation }),
    ...(source.dpop !== undefined && { dpop_signing_alg_values_supported: PROOF_ALGORITHMS }),
    ...(source.dpop === "required" && { dpop_bound_access_tokens_required: true as const }),
  });
  const { origin, pathname, search } = new URL(source.resource);
  const ownPath = WELL_KNOWN + (pathname === "/" ? "" : pathname);
  const body = JSON.stringify(document);
  return {
    document,
    /** The address that challenges name: the path form where the resource has a path (RFC 9728 §3.1). */
    url: `${origin}${ownPath}${search}`,
    /** The answer at the two addresses of the document. */
    answer: (method: string, path: string) => (path === ownPath || path === WELL_KNOWN ? documentAnswer(method, body) : undefined),
  };
}

/** The document is public and the same for everyone, so any origin may read it. */
function documentAnswer(method: string, body: string): HttpAnswer {
  const open = { "Access-Control-Allow-Origin": "*" };
  switch (method) {
    case "GET":
    case "HEAD":
      return { status: 200, headers: { ...open, "Content-Type": "application/json", "Cache-Control": "public, max-age=300" }, body };
    case "OPTIONS":
      return {
        status: 204,
        headers: { ...open, "Access-Control-Allow-Methods": "GET, HEAD, OPTIONS", "Access-Control-Allow-Headers": "*" },
        body: "",
      };
    default:
      return { status: 405, headers: { ...open, Allow: "GET, HEAD, OPTIONS" }, body: "" };
  }
}
