import { createHash } from "node:crypto";
import { type Client, CONSOLE_CLIENT_ID } from "../../clients/client.ts";
import type { ValidRequest } from "../authorization-request.ts";
import type { ConsentView } from "../ports.ts";

const CLIENT_ITSELF = "";

/**
 * What of a request is new to the user: scopes that were not allowed, or not at one of the resources that were, and resources at which
 * nothing was. What was allowed at one resource says nothing about another. Where nothing is new, the consent covers the request.
 * @see docs/protocol.md#consent
 */
export function missingConsent(scopes: readonly string[], resources: readonly string[], consent: ConsentView | undefined) {
  if (consent === undefined) return { scopes, resources };
  const isKnown = (place: string): boolean => place === CLIENT_ITSELF || Object.hasOwn(consent.allowed, place);
  const known = placesOf(resources).filter(isKnown);
  const isAllowed = (scope: string): boolean =>
    consent.scopes.includes(scope) && known.every((place) => consent.allowed[place]?.includes(scope));
  return { scopes: scopes.filter((scope) => !isAllowed(scope)), resources: resources.filter((resource) => !isKnown(resource)) };
}

/** Whether a client is never asked for: the console is the service itself. @see docs/protocol.md#console-sign-in */
export const needsNoConsent = ({ clientId }: Pick<Client, "clientId">): boolean => clientId === CONSOLE_CLIENT_ID;

const originOf = (uri: string): string => {
  const parsed = URL.parse(uri);
  return parsed === null ? uri : `${parsed.protocol}//${parsed.hostname}`;
};

/**
 * The parts of a metadata document that a consent is bound to: how the client authenticates, where its keys are, and to which hosts users
 * are redirected. A change of these voids the consent; new keys or texts do not.
 * @returns undefined for registered clients, whose owners are responsible for changes
 * @see draft-ietf-oauth-client-id-metadata-document "Changes"
 */
export function consentFingerprint(client: Client): string | undefined {
  if (client.origin !== "metadata_document") return undefined;
  const methods = [client.tokenEndpointAuthMethod, ...(client.alternativeAuthMethods ?? [])].toSorted();
  const hosts = [...new Set(client.redirectUris.map(originOf))].toSorted();
  const keySource = client.jwksUri ?? (client.jwks === null ? null : "inline");
  return createHash("sha256")
    .update(JSON.stringify([methods, hosts, keySource, ...(client.spiffe ? [client.spiffe.id, client.spiffe.bundleEndpoint] : [])]))
    .digest("base64url");
}

const PROVEN_REDIRECT = /^https:/;

/**
 * Whether the user must be asked each time: any program on a device can pose as the client of a document, or as the command line, when that
 * redirects to the device.
 * @see OAuth 2.1 §7.3.1
 */
export const mustAlwaysAsk = (client: Client): boolean =>
  (client.origin === "metadata_document" || client.origin === "built_in") &&
  !needsNoConsent(client) &&
  !client.redirectUris.every((uri) => PROVEN_REDIRECT.test(uri));

type InteractionParameters = Pick<ValidRequest, "client" | "prompt" | "maxAge" | "acrValues" | "hintedSub">;

/**
 * Whether a code can be issued without interaction. Pure. Sign-in and consent are checked when the code is stored. Clients of metadata
 * documents always need the full check, which voids outdated consents.
 */
export const mayHaveCodeAtOnce = ({ client, prompt, maxAge, acrValues, hintedSub }: InteractionParameters, userId: string): boolean =>
  client.origin !== "metadata_document" &&
  !mustAlwaysAsk(client) &&
  prompt.every((value) => value === "none") &&
  maxAge === undefined &&
  !acrValues?.length &&
  (hintedSub === undefined || hintedSub === userId);

/** The same scopes for each resource, or without resources for the client itself. */
export const scopesByResource = (scopes: readonly string[], resources: readonly string[]): Readonly<Record<string, readonly string[]>> =>
  Object.fromEntries(placesOf(resources).map((place) => [place, scopes]));

const placesOf = (resources: readonly string[]): readonly string[] => (resources.length === 0 ? [CLIENT_ITSELF] : resources);
