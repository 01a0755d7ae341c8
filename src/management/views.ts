import type { AgentPause, Delegation, End, RootGrant } from "../accounts/delegations.ts";
import type { User } from "../accounts/ports.ts";
import type { ApiKey } from "../clients/api-key.ts";
import { type Client, mayHoldApiKey } from "../clients/client.ts";
import type { Page } from "../clients/ports.ts";
import { milliseconds } from "../clock.ts";
import { operatorAttributes } from "./inputs.ts";
import type { AuditChainState, AuditRecord, PublishedKey } from "./ports.ts";

const millisecondsOrNull = (seconds: number | null): number | null => (seconds === null ? null : milliseconds(seconds));

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

export const apiKeyView = ({ createdAt, lastUsedAt, revokedAt, ...key }: ApiKey) => ({
  ...key,
  createdAt: milliseconds(createdAt),
  lastUsedAt: millisecondsOrNull(lastUsedAt),
  revokedAt: millisecondsOrNull(revokedAt),
});

export const userView = ({ createdAt, updatedAt, ...user }: User) => ({
  ...user,
  createdAt: milliseconds(createdAt),
  updatedAt: millisecondsOrNull(updatedAt),
});

export const publishedKeyView = ({ publishedAt, inUseAt, ...key }: PublishedKey) => ({
  ...key,
  publishedAt: milliseconds(publishedAt),
  inUseAt: millisecondsOrNull(inUseAt),
});

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

export const auditChainView = ({ head, waiting, signed }: AuditChainState) => ({
  head,
  waiting,
  signed: signed && { seq: signed.seq, at: milliseconds(signed.at) },
});

const endView = (end: End | null) => end && { ...end, at: millisecondsOrNull(end.at) };

/** `ended` is null while the delegation is active. */
export const delegationView = ({ issuedAt, expiresAt, ended, ...delegation }: Delegation) => ({
  ...delegation,
  issuedAt: milliseconds(issuedAt),
  expiresAt: milliseconds(expiresAt),
  ended: endView(ended),
});

export const rootGrantView = ({ issuedAt, signedOutAt, ended, ...root }: RootGrant) => ({
  ...root,
  issuedAt: milliseconds(issuedAt),
  signedOutAt: millisecondsOrNull(signedOutAt),
  ended: endView(ended),
});

export const agentPauseView = ({ pausedAt, ...pause }: AgentPause) => ({ ...pause, pausedAt: milliseconds(pausedAt) });

/** @param name of the member that holds the items */
export const pageView = <Name extends string, Item, View>(name: Name, { items, next }: Page<Item>, view: (item: Item) => View) =>
  ({ [name]: items.map(view), nextCursor: next }) as Record<Name, View[]> & { nextCursor: string | null };
