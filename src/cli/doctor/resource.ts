import { isWebResource, sameResource } from "../../protocol/access.ts";
import { type CheckResult, type Finding, fault, findingsAbout, ok, shown, warning } from "./finding.ts";
import { type Answer, type Json, stringsOf } from "./web.ts";

export interface ResourceObservations {
  /** The URL that clients use. */
  readonly url: string;
  /** Status of a request without a token. */
  readonly status: number | undefined;
  readonly challenge: Challenge | undefined;
  /** The document that the challenge names. */
  readonly named: Answer | undefined;
  /** The documents at both well-known URLs: with the resource's path, and without. They are the same URL where there is no path. */
  readonly withPath: Answer;
  readonly atRoot: Answer;
}

/** The metadata document that a client uses: the challenge's, else the one for the path, else the one at the root. */
export const metadataOf = ({ named, withPath, atRoot }: ResourceObservations): Answer | undefined =>
  [named, withPath, atRoot].find((answer) => answer?.status === 200 && answer.body !== undefined);

/** The scopes that a client would ask for: the challenge's and the document's. */
export function scopesOf(observations: ResourceObservations): readonly string[] {
  const challenged = observations.challenge?.scope?.split(" ").filter(Boolean) ?? [];
  return [...new Set([...challenged, ...(stringsOf(metadataOf(observations)?.body?.scopes_supported) ?? [])])];
}

/** Problems that clients of a resource will have before they reach its authorization server. Pure. @see RFC 9728 §3, §5 */
export function resourceFindings(observations: ResourceObservations): readonly Finding[] {
  const metadata = metadataOf(observations);
  const insecure = fault("https", "is reached over plain http", "serve it over https: tokens are sent to it");
  const results = [
    ...(isWebResource(observations.url) ? [] : [insecure]),
    ...challengeFindings(observations),
    ...(metadata?.body === undefined
      ? [noMetadata(observations)]
      : [placeFinding(metadata, observations), ...documentFindings(observations.url, metadata.body)]),
  ];
  return findingsAbout(`Resource ${shown(observations.url)}`, results);
}

function challengeFindings({ status, challenge, named, withPath, atRoot }: ResourceObservations): readonly CheckResult[] {
  if (status !== 401) {
    const change = 'answer 401 with WWW-Authenticate: Bearer resource_metadata="…" so that clients learn where to sign in (RFC 9728 §5.1)';
    const answered = status === undefined ? "does not answer" : `answers ${status}`;
    return [fault("challenge", `a request without a token ${answered}, not 401`, change)];
  }
  if (challenge === undefined)
    return [fault("challenge", "answers 401 without a Bearer challenge", 'send WWW-Authenticate: Bearer resource_metadata="…"')];
  const found = [schemeFinding(challenge)];
  const { resourceMetadata } = challenge;
  if (resourceMetadata === undefined) {
    const served = withPath.body !== undefined || atRoot.body !== undefined;
    const sentence = "the challenge has no resource_metadata";
    const change = `add resource_metadata="${withPath.url}" to it; ChatGPT and the MCP SDKs look there first`;
    return [...found, served ? warning("challenge_metadata", sentence, change) : fault("challenge_metadata", sentence, change)];
  }
  if (named?.status === 200 && named.body !== undefined)
    return [...found, ok("challenge_metadata", `the challenge names its metadata, ${shown(resourceMetadata)}`)];
  const why = named?.problem ?? "it is neither https nor on this machine";
  const change = "serve the metadata there as JSON with status 200, or correct the challenge";
  return [...found, fault("challenge_metadata", `the challenge names ${shown(resourceMetadata)}, which cannot be read: ${why}`, change)];
}

function schemeFinding({ isBound }: Challenge): CheckResult {
  if (!isBound) return ok("challenge", "refuses requests without a token with 401 and a Bearer challenge");
  const change = "accept other tokens too, if clients without a key are to connect";
  return warning("challenge", "takes only tokens that are bound to a key (DPoP)", change);
}

const noMetadata = ({ withPath, atRoot }: ResourceObservations): CheckResult => {
  const places = withPath.url === atRoot.url ? [withPath] : [withPath, atRoot];
  return fault(
    "resource_metadata",
    `serves no protected resource metadata (${places.map(({ url, problem }) => `${shown(url)}: ${problem}`).join("; ")})`,
    `serve a JSON document with resource and authorization_servers at ${withPath.url} (RFC 9728 §3)`,
  );
};

/** Whether the document is where it can be found by the URL alone. @see RFC 9728 §3.1 */
function placeFinding({ url: at, body }: Answer, { url, withPath }: ResourceObservations): CheckResult {
  const found = `serves its metadata at ${shown(at)}`;
  const isElsewhere = at !== withPath.url && withPath.body === undefined && sameResource(String(body?.resource), url);
  if (!isElsewhere) return ok("resource_metadata", found);
  return warning(
    "resource_metadata",
    `${found} alone`,
    `serve it at ${withPath.url} too (RFC 9728 §3.1), where clients without the challenge look, and a Countersign that makes a record`,
  );
}

function documentFindings(url: string, document: Json): readonly CheckResult[] {
  const servers = stringsOf(document.authorization_servers) ?? [];
  const insecure = servers.filter((server) => !isWebResource(server));
  const scopes = stringsOf(document.scopes_supported);
  const methods = stringsOf(document.bearer_methods_supported);
  const serversFinding =
    servers.length === 0
      ? fault("authorization_servers", "the metadata names no authorization server", "list the issuer URL in authorization_servers")
      : insecure.length > 0
        ? fault("authorization_servers", `${shown(insecure[0])} is no https URL`, "list issuer URLs with https in authorization_servers")
        : ok("authorization_servers", `tokens come from ${servers.map(shown).join(", ")}`);
  return [
    identityFinding(url, document.resource),
    serversFinding,
    scopes !== undefined && scopes.length > 0
      ? ok("resource_scopes", `offers the scopes ${scopes.map(shown).join(" ")}`)
      : warning("resource_scopes", "the metadata lists no scopes_supported", "list the scopes, so that clients know what to ask for"),
    ...(methods !== undefined && !methods.includes("header")
      ? [fault("bearer_methods", "tokens in the Authorization header are not accepted", "add header to bearer_methods_supported")]
      : []),
  ];
}

/** Whether the document speaks of the URL in use. Clients must refuse one that does not. @see RFC 9728 §3.3 */
function identityFinding(url: string, resource: unknown): CheckResult {
  const change = `set resource to ${url}`;
  if (typeof resource !== "string") return fault("resource_identity", "the metadata has no resource", change);
  if (sameResource(resource, url)) return ok("resource_identity", "the metadata names this resource");
  const [own, named] = [new URL(url), URL.parse(resource)];
  const isParent = named?.origin === own.origin && own.pathname.startsWith(`${named.pathname.replace(/\/$/, "")}/`);
  if (!isParent)
    return fault("resource_identity", `the metadata is about another resource, ${shown(resource)}: clients must refuse it`, change);
  return warning("resource_identity", `the metadata is about ${shown(resource)}, a parent of this URL: strict clients refuse it`, change);
}

/** What a Bearer or DPoP challenge says. */
export interface Challenge {
  /** That tokens must be bound to a key (RFC 9449 §7.1). */
  readonly isBound?: true;
  readonly resourceMetadata: string | undefined;
  readonly scope: string | undefined;
}

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const PARAMETER = new RegExp(`[\\s,]+(${TOKEN})\\s*=\\s*(?:"((?:[^"\\\\]|\\\\.)*)"|([^\\s,"]+))`, "y");
const BEARER = /(?:^|,)\s*Bearer(?=[\s,]|$)/i;
const DPOP = /(?:^|,)\s*DPoP(?=[\s,]|$)/i;
/** Longer headers are not read. */
const LONGEST = 8192;

/** The Bearer challenge in a WWW-Authenticate header, else the DPoP challenge; undefined where there is neither. Pure. @see RFC 9110 §11.6.1, RFC 9728 §5.1 */
export function tokenChallenge(header: string | null): Challenge | undefined {
  if (header === null || header.length > LONGEST) return undefined;
  const bearer = BEARER.exec(header);
  const scheme = bearer ?? DPOP.exec(header);
  if (scheme === null) return undefined;
  const parameters = new Map<string, string>();
  PARAMETER.lastIndex = scheme.index + scheme[0].length;
  for (let match = PARAMETER.exec(header); match !== null; match = PARAMETER.exec(header)) {
    const [, name = "", quoted, plain] = match;
    parameters.set(name.toLowerCase(), quoted?.replace(/\\(.)/g, "$1") ?? plain ?? "");
  }
  const isBound = bearer === null && { isBound: true as const };
  return { resourceMetadata: parameters.get("resource_metadata"), scope: parameters.get("scope"), ...isBound };
}
