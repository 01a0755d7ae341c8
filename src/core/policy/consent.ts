import { createHash } from "node:crypto";
import type { Client } from "../../clients/client.ts";
import type { ConsentView } from "../ports.ts";

/** What of a request the person has not yet allowed this client anywhere. */
export function missingConsent(
  scopes: readonly string[],
  resources: readonly string[],
  consent: ConsentView | undefined,
): { readonly scopes: readonly string[]; readonly resources: readonly string[] } {
  return {
    scopes: scopes.filter((scope) => !consent?.scopes.includes(scope)),
    resources: resources.filter((resource) => !consent?.resources.includes(resource)),
  };
}

/**
 * Whether a prior consent covers the request, so that the screen may be skipped (docs/protocol.md#consent): each scope at each of the places.
 * What was allowed at one place says nothing about another.
 */
export const consentCovers = (scopes: readonly string[], resources: readonly string[], consent: ConsentView | undefined): boolean =>
  consent !== undefined &&
  Object.entries(scopesByResource(scopes, resources)).every(([place, wanted]) =>
    wanted.every((scope) => Object.hasOwn(consent.allowed, place) && consent.allowed[place]?.includes(scope)),
  );

const originOf = (uri: string): string => {
  const parsed = URL.parse(uri);
  return parsed === null ? uri : `${parsed.protocol}//${parsed.hostname}`;
};

/**
 * What of a metadata document a person's consent is bound to: how the client authenticates, where its keys are, and to which hosts people
 * are sent back. When this changes the consent is void; new keys and new words leave it alone. Undefined for registered clients, whose
 * owners answer for changes.
 * @see draft-ietf-oauth-client-id-metadata-document "Changes"
 */
export function consentFingerprint(client: Client): string | undefined {
  if (client.origin !== "metadata_document") return undefined;
  const methods = [client.tokenEndpointAuthMethod, ...(client.alternativeAuthMethods ?? [])].toSorted();
  const hosts = [...new Set(client.redirectUris.map(originOf))].toSorted();
  const keySource = client.jwksUri ?? (client.jwks === null ? null : "inline");
  return createHash("sha256")
    .update(JSON.stringify([methods, hosts, keySource]))
    .digest("base64url");
}

const PROVEN_REDIRECT = /^https:/;

/**
 * Whether a person must be asked each time: any program on his device can pose as a client that anyone may name and whose answers come
 * back to the device, so an earlier yes says nothing about who asks now.
 * @see OAuth 2.1 §7.3.1
 */
export const mustAlwaysAsk = (client: Client): boolean =>
  client.origin === "metadata_document" && !client.redirectUris.every((uri) => PROVEN_REDIRECT.test(uri));

/** What of a good request says whether it wants more than a code. */
export interface Wishes {
  readonly client: Client;
  readonly prompt: readonly string[];
  readonly maxAge: number | undefined;
  readonly hintedSub: string | undefined;
}

/**
 * Whether a request needs nothing but a person who is signed in and has consented, both of which the writing of the code makes sure of: no
 * screen, no newer sign-in, nobody else. Pure. Clients of metadata documents always go the longer way, on which older consents are made
 * void.
 */
export const mayHaveCodeAtOnce = ({ client, prompt, maxAge, hintedSub }: Wishes, userId: string): boolean =>
  client.origin !== "metadata_document" &&
  prompt.every((value) => value === "none") &&
  maxAge === undefined &&
  (hintedSub === undefined || hintedSub === userId);

/** The client itself, as a place where scopes hold: that is where they hold without a resource. */
const CLIENT_ITSELF = "";

/** Scopes by the place where they hold: at each of the resources, or without any at the client itself. */
export const scopesByResource = (scopes: readonly string[], resources: readonly string[]): Readonly<Record<string, readonly string[]>> =>
  Object.fromEntries((resources.length === 0 ? [CLIENT_ITSELF] : resources).map((place) => [place, scopes]));
