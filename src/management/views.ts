import type { Delegation, End, RootGrant } from "../accounts/delegations.ts";
import type { Consent, LiveSession, User } from "../accounts/ports.ts";
import type { Branding } from "../branding/branding.ts";
import { logoFile } from "../branding/logo.ts";
import type { ApiKey } from "../clients/api-key.ts";
import { type Client, mayHoldApiKey } from "../clients/client.ts";
import { inMilliseconds, milliseconds, millisecondsOrNull } from "../clock.ts";
import { type Page, TOTAL_LIMIT } from "../paging.ts";
import { operatorAttributes } from "./inputs.ts";
import type { Figure } from "./ports.ts";
import type { AuditChainState, AuditRecord, ConsentCounts } from "./report-ports.ts";

/** A record that operators manage, with its times as milliseconds. One that was never changed has that of its creation. */
export const recordView = <Thing extends { readonly createdAt: number; readonly updatedAt: number | null }>(record: Thing) =>
  inMilliseconds({ ...record, updatedAt: record.updatedAt ?? record.createdAt }, "createdAt", "updatedAt");

/** Names every member, so that no secret can leave. @see docs/protocol.md#clients */
export const clientView = (client: Client) => ({
  id: client.id,
  clientId: client.clientId,
  name: client.name,
  description: client.description,
  redirectUris: client.redirectUris,
  scopes: client.scopes,
  grantTypes: client.grantTypes,
  responseTypes: client.responseTypes,
  tokenEndpointAuthMethod: client.tokenEndpointAuthMethod,
  enabled: client.enabled,
  requirePkce: true as const,
  ...(client.requirePushedAuthorizationRequests && { requirePushedAuthorizationRequests: true as const }),
  environment: client.environment,
  staticApiKeysAllowed: mayHoldApiKey(client),
  createdAt: milliseconds(client.createdAt),
  updatedAt: milliseconds(client.updatedAt ?? client.createdAt),
  lastUsedAt: millisecondsOrNull(client.lastUsedAt),
});

const OPERATOR_MEMBERS = [
  "origin",
  "ownerId",
  "realmId",
  ...(Object.keys(operatorAttributes) as (keyof typeof operatorAttributes)[]),
] as const;

export const operatorClientView = (client: Client) => ({ ...clientView(client), ...pick(client, OPERATOR_MEMBERS) });

const pick = <Thing extends object, Member extends keyof Thing>(thing: Thing, members: readonly Member[]): Pick<Thing, Member> =>
  Object.fromEntries(members.map((member) => [member, thing[member]])) as Pick<Thing, Member>;

export const apiKeyView = (key: ApiKey) => inMilliseconds(key, "createdAt", "lastUsedAt", "revokedAt");
export const consentView = <Shown extends Omit<Consent, "userId">>(consent: Shown) =>
  inMilliseconds(consent, "createdAt", "updatedAt", "lastUsedAt");
/** As its own user sees it. */
export const ownConsentView = ({ userId: _, ...consent }: Consent) => consentView(consent);
export const sessionView = <Shown extends Omit<LiveSession, "id">>({ authTime: signedInAt, lastSeenAt, ...session }: Shown) =>
  inMilliseconds({ ...session, signedInAt, lastSeenAt }, "signedInAt", "lastSeenAt");
export const userView = (user: User) => inMilliseconds(user, "createdAt", "updatedAt");

/** Leaves out members without a value. `depth` counts the actors of a delegation; `seq` and `hash` are null until the record is sealed. */
export const auditView = ({ at, actChain, address, link, ...record }: AuditRecord) => ({
  ...record,
  seq: link?.seq ?? null,
  hash: link?.hash ?? null,
  at: milliseconds(at),
  actChain: actChain ?? [],
  depth: actChain?.length ?? 0,
  ...(address !== undefined && { ip: address }),
});

export const auditChainView = ({ start, head, waiting, signed }: AuditChainState) => ({
  start,
  head,
  waiting,
  signed: signed && { seq: signed.seq, at: milliseconds(signed.at) },
});

const endView = (end: End | null) => end && { ...end, at: millisecondsOrNull(end.at) };

/** `ended` is null while the delegation is active. */
export const delegationView = ({ ended, ...delegation }: Delegation) => ({
  ...inMilliseconds(delegation, "issuedAt", "expiresAt"),
  ended: endView(ended),
});

export const rootGrantView = ({ ended, ...root }: RootGrant) => ({
  ...inMilliseconds(root, "issuedAt", "signedOutAt"),
  ended: endView(ended),
});

/** What every page of a list has beside its items. `total` is null on all pages but the first; inexact it means "more than". */
export interface PageEnd {
  readonly nextCursor: string | null;
  readonly total: number | null;
  readonly totalIsExact: boolean;
}

/** @param name of the member that holds the items */
export const pageView = <Name extends string, Item, View>(name: Name, { items, next, total }: Page<Item>, view: (item: Item) => View) => {
  const totalIsExact = total !== null && total <= TOTAL_LIMIT;
  const end: PageEnd = { nextCursor: next, total: total === null ? null : Math.min(total, TOTAL_LIMIT), totalIsExact };
  return { [name]: items.map(view), ...end } as Record<Name, View[]> & PageEnd;
};

/** As many of the counted consents as a total may say. */
export const countsView = ({ total, usedLately }: ConsentCounts) => ({
  total: Math.min(total, TOTAL_LIMIT),
  totalIsExact: total <= TOTAL_LIMIT,
  usedLately: Math.min(usedLately, TOTAL_LIMIT),
});

export const figureView = (figure: Figure) => inMilliseconds(figure, "at");

export const brandingView = ({ logo, ...branding }: Branding) => ({ ...branding, logo: logo === undefined ? null : logoFile(logo).type });
