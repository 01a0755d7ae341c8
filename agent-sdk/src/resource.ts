import type { Challenge } from "./challenge.ts";
import { AgentError } from "./errors.ts";
import { addressOf, textsOf } from "./http.ts";
import { PROOF_ALGORITHM } from "./proof.ts";
import { covers, isSameIdentifier, resourceMetadataUrl } from "./urls.ts";

/** What an agent knows of a protected resource. */
export interface Resource {
  /** Its identifier, which becomes the audience of tokens. */
  readonly identifier: string;
  /** What its first challenge asked for. */
  readonly scope: string | undefined;
  /** Whether it takes tokens that are bound to a key. */
  readonly takesProofs: boolean;
}

/** What a challenge asks for: the metadata document that it names, the scopes, and whether proofs are taken. */
export interface Demand {
  readonly metadataUrl: string | undefined;
  readonly scope: string | undefined;
  readonly takesProofs: boolean;
}

/** What the OAuth challenges of a response ask for; undefined if it has none. @see RFC 6750 §3, RFC 9449 §7.1, RFC 9728 §5.1 */
export function demandOf(challenges: readonly Challenge[]): Demand | undefined {
  const known = challenges.filter(({ scheme }) => scheme === "bearer" || scheme === "dpop");
  if (known.length === 0) return undefined;
  const first = (name: string) => known.map(({ parameters }) => parameters.get(name)).find((value) => value !== undefined);
  const takesProofs = known.some(({ scheme, parameters }) => scheme === "dpop" && lists(parameters.get("algs")?.split(" ")));
  return { metadataUrl: first("resource_metadata"), scope: first("scope"), takesProofs };
}

/** No list means that any algorithm is accepted. */
const lists = (algorithms: readonly string[] | undefined) => algorithms === undefined || algorithms.includes(PROOF_ALGORITHM);

/**
 * Where the metadata of a called URL may be, the likeliest first. The document must be at the origin that was called: what a resource server
 * says selects no other server.
 * @throws {AgentError} wrong_resource
 * @see RFC 9728 §3.1, §5.1
 */
export function metadataAddresses(called: string, named: string | undefined): readonly string[] {
  const { origin } = new URL(called);
  if (named === undefined) return [...new Set([resourceMetadataUrl(pathOf(called)), resourceMetadataUrl(origin)])];
  if (!URL.canParse(named) || new URL(named).origin !== origin)
    throw new AgentError("wrong_resource", `${addressOf(called)} names a metadata document at another origin`);
  return [named];
}

const pathOf = (url: string) => `${new URL(url).origin}${new URL(url).pathname}`;

export interface FoundMetadata {
  readonly document: Readonly<Record<string, unknown>>;
  /** Its address. */
  readonly at: string;
  /** The URL that was called. */
  readonly called: string;
  /** The authorization server that the agent belongs to. */
  readonly issuer: string;
}

/**
 * The resource that a metadata document describes, if it may draw a token. It must be what was called, or lie around it and have its document at
 * its own well-known address; so no path of a server can ask for a token of the whole server. And it must accept tokens of the agent's own issuer.
 * @throws {AgentError} invalid_response, wrong_resource, wrong_issuer
 * @see RFC 9728 §3.3
 */
export function judgedMetadata({ document, at, called, issuer }: FoundMetadata): Omit<Resource, "scope"> {
  const { resource: identifier, dpop_signing_alg_values_supported: algorithms } = document;
  if (typeof identifier !== "string" || !URL.canParse(identifier))
    throw new AgentError("invalid_response", `${addressOf(at)} names no resource`);
  const isCalled = isSameIdentifier(identifier, pathOf(called)) || identifier === called;
  const isAround = covers(identifier, called) && resourceMetadataUrl(identifier) === at;
  if (!isCalled && !isAround)
    throw new AgentError("wrong_resource", `${addressOf(called)} asks for a token of another resource, ${addressOf(identifier)}`);
  if (!textsOf(document.authorization_servers).some((each) => isSameIdentifier(each, issuer)))
    throw new AgentError("wrong_issuer", `${addressOf(identifier)} does not accept tokens of ${issuer}`);
  return { identifier, takesProofs: algorithms !== undefined && lists(textsOf(algorithms)) };
}
