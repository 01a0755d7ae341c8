import { audienceOf, type Client } from "../../clients/client.ts";
import { Refusal } from "../../errors.ts";
import { isAbsoluteUri, isResourceUri, MAX_RESOURCES, sameResource } from "../../protocol/resource.ts";

const DESCRIPTIONS = {
  too_many_resources: `At most ${MAX_RESOURCES} resources can be named.`,
  resource_not_allowed:
    "A resource must be an absolute URI without fragment (of http URIs those of loopback hosts only), or the client_id of a client that exists; this service itself is one for clients only that may manage clients.",
  resource_outside_grant: "A resource lies outside of those that the grant is bound to.",
  resource_malformed: "A resource must be an absolute URI without fragment, or the client_id of a client that exists.",
  resource_outside_audience: "A resource lies outside of the client's audience.",
  resource_outside_subject: "A resource or audience lies outside of the audience of the subject_token.",
} as const;

const refuse = (reason: keyof typeof DESCRIPTIONS): never => {
  throw new Refusal("invalid_target", reason, { description: DESCRIPTIONS[reason] });
};

const distinct = (values: readonly string[]): readonly string[] => [...new Set(values)];

/**
 * The resources of an authorization request. A value is an absolute URI, or the client_id of an existing client (so that a token can be
 * delegated to it).
 * @param isClient whether a client of that id exists
 * @throws {Refusal} invalid_target
 * @see RFC 8707 §2, specification §4.6
 */
export async function requestableResources(
  resources: readonly string[],
  issuer: string,
  mayManage: boolean,
  isClient: (clientId: string) => Promise<boolean>,
): Promise<readonly string[]> {
  const requested = distinct(resources);
  if (requested.length > MAX_RESOURCES) refuse("too_many_resources");
  for (const resource of requested) {
    if (resource === issuer ? !mayManage : !isResourceUri(resource) && !(await isClient(resource))) refuse("resource_not_allowed");
  }
  return requested;
}

/** A wish in the words of what is bound: with and without the root path it is the same resource. Undefined for one that is not among them. */
export const boundForm = (resource: string, bound: readonly string[]): string | undefined =>
  bound.includes(resource) ? resource : bound.find((each) => sameResource(each, resource));

function within(bound: readonly string[], requested: readonly string[], otherwise: keyof typeof DESCRIPTIONS): readonly string[] {
  if (requested.length === 0) return bound;
  return distinct(requested.map((resource) => boundForm(resource, bound) ?? refuse(otherwise)));
}

/**
 * A later, narrower wish against the bound audience; absent means all of it.
 * @throws {Refusal} invalid_target when it reaches outside
 * @see RFC 8707 §2.2
 */
export const narrowResource = (resources: readonly string[], bound: readonly string[]): readonly string[] =>
  within(bound, distinct(resources), "resource_outside_grant");

/**
 * The audience of a client's own token: its `audience` set, or what it names of it.
 * @throws {Refusal} invalid_target
 * @see specification §2.2, §4.7
 */
export function ownAudience(resources: readonly string[], client: Client): readonly string[] {
  const requested = distinct(resources);
  if (!requested.every((resource) => isAbsoluteUri(resource) || [client.clientId, ...audienceOf(client)].includes(resource)))
    refuse("resource_malformed");
  return within(audienceOf(client), requested, "resource_outside_audience");
}

/**
 * Where a token may be used that is given in exchange for another: all that the request names as `resource` or `audience`, else the same
 * places. A value is an absolute URI or the client_id of an existing client, and one of the subject token's own audience.
 * @param requested both parameters' values together  @param isClient whether a client of that id exists
 * @throws {Refusal} invalid_target
 * @see RFC 8693 §2.1, RFC 8707 §2, specification §4.7 rule 4
 */
export function exchangedAudience(
  requested: readonly string[],
  subjectAudience: readonly string[],
  isClient: (clientId: string) => boolean,
): readonly string[] {
  const named = distinct(requested);
  if (named.length > MAX_RESOURCES) refuse("too_many_resources");
  if (!named.every((value) => isAbsoluteUri(value) || isClient(value))) refuse("resource_malformed");
  return within(subjectAudience, named, "resource_outside_subject");
}
