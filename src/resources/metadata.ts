import { FetchFailure, type GuardedFetch } from "../clients/guarded-fetch.ts";
import { sameResource } from "../protocol/access.ts";
import { displayNameFault } from "../protocol/display-name.ts";
import { isResourceScope, MAX_SCOPE_LENGTH, MAX_SCOPES } from "./resource.ts";

const WELL_KNOWN = "/.well-known/oauth-protected-resource";

/** Where the metadata document of a web resource is. @see RFC 9728 §3.1 */
export function metadataUrl(resource: string): string {
  const { origin, pathname, search } = new URL(resource);
  return `${origin}${WELL_KNOWN}${pathname === "/" ? "" : pathname}${search}`;
}

/** What a resource says about itself. */
export interface ResourceMetadata {
  readonly name: string | undefined;
  /** Those that a record may define, in the order of the document. */
  readonly scopes: readonly string[];
}

/** The fault for which a document is not used, as a fixed word for logs. */
export type MetadataFault = "not_an_object" | "resource_differs" | "issuer_not_named";

const textsOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((each): each is string => typeof each === "string") : [];

/**
 * Reads the metadata document of a resource. Pure.
 * @param issuer must be among its authorization servers
 * @returns the fault of a document that is about another resource, or about one of other authorization servers @see RFC 9728 §2 and §3.3
 */
export function readMetadata(document: unknown, resource: string, issuer: string): ResourceMetadata | MetadataFault {
  if (typeof document !== "object" || document === null || Array.isArray(document)) return "not_an_object";
  const members = document as Readonly<Record<string, unknown>>;
  if (typeof members.resource !== "string" || !sameResource(members.resource, resource)) return "resource_differs";
  if (!textsOf(members.authorization_servers).some((server) => sameResource(server, issuer))) return "issuer_not_named";
  const { resource_name: name } = members;
  const scopes = new Set(textsOf(members.scopes_supported).filter((scope) => scope.length <= MAX_SCOPE_LENGTH && isResourceScope(scope)));
  return {
    name: typeof name === "string" && displayNameFault(name) === undefined ? name : undefined,
    scopes: [...scopes].slice(0, MAX_SCOPES),
  };
}

const MAX_DOCUMENT_BYTES = 65_536;

/** Fetches and reads the metadata document of a resource. @returns otherwise the reason why it is not used, as a fixed word */
export async function fetchMetadata(
  fetch: Pick<GuardedFetch, "json">,
  resource: string,
  issuer: string,
): Promise<ResourceMetadata | string> {
  try {
    return readMetadata((await fetch.json(metadataUrl(resource), MAX_DOCUMENT_BYTES)).value, resource, issuer);
  } catch (error) {
    if (error instanceof FetchFailure) return error.reason;
    throw error;
  }
}
