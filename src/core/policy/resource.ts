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
  audience_absent: "None of the clients that the token would be for exists and is enabled.",
} as const;

const refuse = (reason: keyof typeof DESCRIPTIONS): never => {
  throw new Refusal("invalid_target", reason, { description: DESCRIPTIONS[reason] });
};

const distinct = (values: readonly string[]): readonly string[] => [...new Set(values)];

/**
 * The resources of an authorization request: absolute URIs, or client_ids of existing clients, to which a token can be delegated.
 * @throws {Refusal} invalid_target
 * @see RFC 8707 §2, docs/protocol.md#resources
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

/** The spelling of a resource in a bound list, where a root path makes no difference; undefined if it is not in the list. */
export const boundForm = (resource: string, bound: readonly string[]): string | undefined =>
  bound.includes(resource) ? resource : bound.find((each) => sameResource(each, resource));

function within(bound: readonly string[], requested: readonly string[], otherwise: keyof typeof DESCRIPTIONS): readonly string[] {
  if (requested.length === 0) return bound;
  return distinct(requested.map((resource) => boundForm(resource, bound) ?? refuse(otherwise)));
}

/** Drops disabled and deleted clients from an audience. @throws {Refusal} invalid_target when nothing is left */
function present(audience: readonly string[], isAbsent: (clientId: string) => boolean): readonly string[] {
  const left = audience.filter((value) => !isAbsent(value));
  if (left.length === 0 && audience.length > 0) refuse("audience_absent");
  return left;
}

/**
 * Narrows the bound audience to the requested resources, if there are any, and drops clients that are disabled or deleted.
 * @param absentClients those clients, as far as the bound audience names them
 * @throws {Refusal} invalid_target for a resource outside of the audience, or when nothing is left
 * @see RFC 8707 §2.2
 */
export const narrowResource = (
  resources: readonly string[],
  bound: readonly string[],
  absentClients: readonly string[] = [],
): readonly string[] => present(within(bound, distinct(resources), "resource_outside_grant"), (value) => absentClients.includes(value));

/**
 * The audience of a client's own token: the requested part of its `audience`, or all of it.
 * @throws {Refusal} invalid_target
 * @see docs/protocol.md#resources, docs/protocol.md#client-credentials
 */
export function clientAudience(resources: readonly string[], client: Client): readonly string[] {
  const requested = distinct(resources);
  if (!requested.every((resource) => isAbsoluteUri(resource) || [client.clientId, ...audienceOf(client)].includes(resource)))
    refuse("resource_malformed");
  return within(audienceOf(client), requested, "resource_outside_audience");
}

/** Values of an audience that may be the client_id of a registered client, which can be a URN. Web URIs are resources. */
export const possibleClients = (audience: readonly string[]): readonly string[] => audience.filter((value) => !/^https?:/i.test(value));

/**
 * The audience of an exchanged token: what the request names, or all of the subject token's audience, without disabled or deleted clients.
 * Each requested value must be in the subject token's audience.
 * @param requested the values of `resource` and `audience` together
 * @param clients the existing clients that either names, each with whether it is enabled
 * @throws {Refusal} invalid_target
 * @see RFC 8693 §2.1, RFC 8707 §2, docs/protocol.md#token-exchange-rules
 */
export function exchangedAudience(
  requested: readonly string[],
  subjectAudience: readonly string[],
  clients: ReadonlyMap<string, boolean>,
): readonly string[] {
  const named = distinct(requested);
  if (named.length > MAX_RESOURCES) refuse("too_many_resources");
  if (!named.every((value) => isAbsoluteUri(value) || clients.has(value))) refuse("resource_malformed");
  const audience = within(subjectAudience, named, "resource_outside_subject");
  return present(audience, (value) => !(clients.get(value) ?? isAbsoluteUri(value)));
}
