import { z } from "zod";
import { verifierOf } from "../accounts/hashing-job.ts";
import { ROLES } from "../accounts/ports.ts";
import { AUDIT_EVENTS } from "../audit.ts";
import { AGENT_MODES, AUTH_METHODS, ENVIRONMENTS, OPERATOR_AUTH_METHODS, SECURITY_PROFILES } from "../clients/client.ts";
import { keyFault } from "../clients/public-keys.ts";
import type { Part } from "../paging.ts";
import { isAbsoluteUri, isScopeToken } from "../protocol/access.ts";
import { PHISHING_RESISTANT_ACR, TWO_FACTOR_ACR } from "../protocol/authentication-context.ts";
import { DisplayName } from "../protocol/display-name.ts";
import { GRANT_TYPES, SELF_SERVICE_GRANT_TYPES } from "../protocol/grants.ts";
import { DEFAULT_LANGUAGE, LANGUAGES } from "../texts/languages.ts";

// Members of a client, validated one by one, for the API and provisioning files. clients/coherence.ts validates them together.

/** Text and JSON columns can hold neither NUL nor unpaired surrogates. */
const isStorable = (text: string): boolean => !text.includes("\0") && text.isWellFormed();

export const storable = <Text extends z.ZodType<string>>(type: Text) =>
  type.refine(isStorable, "contains a character that cannot be stored");

const text = (min: number, max: number) => storable(z.string().min(min).max(max));

const distinct = <Item extends string>(items: Item[]): Item[] => [...new Set(items)];

/** Some of these words. Of a list that is too long the entries are not looked at: 30,000 faults fit into a body, with megabytes of messages. */
const someOf = <const Words extends readonly string[]>(words: Words) => z.array(z.enum(words)).max(50);

const description = text(0, 2000).nullable();
const redirectUris = z.array(text(1, 2000)).max(50).transform(distinct);
export const scopes = z.array(text(1, 256).refine(isScopeToken, "is no scope token (RFC 6749 §3.3)")).max(200).transform(distinct);
const responseTypes = someOf(["code"]).transform(distinct);
const tokenEndpointAuthMethod = z.enum(AUTH_METHODS);
export const operatorAuthMethod = z.enum(OPERATOR_AUTH_METHODS);
export const allGrants = someOf(GRANT_TYPES).min(1).transform(distinct);

/** Any text without control characters, for instance a URN. */
export const clientId = z
  .string()
  .regex(/^\P{Cc}{1,512}$/u, "must be 1 to 512 characters without control characters")
  .refine(isStorable);

const jwk = z
  .looseObject({ kty: text(1, 20) })
  .refine((key) => !/\\u0000|\\ud[89a-f]/i.test(JSON.stringify(key)), "contains a character that cannot be stored")
  .check(({ value, issues }) => {
    const message = keyFault(value);
    if (message !== undefined) issues.push({ code: "custom", message, input: value });
  });

/** Attributes that only operators set. @see docs/protocol.md#clients */
export const operatorAttributes = {
  environment: z.enum(ENVIRONMENTS).nullable().optional(),
  postLogoutRedirectUris: redirectUris.optional(),
  backchannelLogoutUri: z.string().max(2000).refine(isStorable).nullable().optional(),
  backchannelLogoutSessionRequired: z.boolean().optional(),
  isAgent: z.boolean().optional(),
  maxAgentMode: z.enum(AGENT_MODES).nullable().optional(),
  dpopBoundAccessTokens: z.boolean().optional(),
  securityProfile: z.enum(SECURITY_PROFILES).nullable().optional(),
  audience: z
    .array(clientId.refine((value) => isAbsoluteUri(value) || !value.includes("#"), "is neither a URI without fragment nor a client_id"))
    .min(1)
    .max(100)
    .transform(distinct)
    .nullable()
    .optional(),
  jwks: z
    .strictObject({ keys: z.array(jwk).max(20) })
    .transform((set) => (set.keys.length === 0 ? null : set))
    .nullable()
    .optional(),
  jwksUri: storable(z.url({ protocol: /^https$/ }).max(2000))
    .nullable()
    .optional(),
};

const selfServiceGrants = someOf(SELF_SERVICE_GRANT_TYPES).min(1).transform(distinct);

/** Named so that a developer learns who may set it. */
const operatorsOnly = z.never("is set by operators alone").optional();

/** PKCE is always required, so this is accepted and ignored. @see docs/protocol.md#clients */
const requirePkce = z.boolean().optional();

/** A record's internal id. Any other text is looked up too, and not found. */
export const RecordId = z.string().transform((id) => id.toLowerCase());

/** Of a change to a record. */
export const updatedAt = z
  .int()
  .optional()
  .meta({ description: "That of the record when it was read: the call is refused if the record was changed since." });

/** The id of a record in a filter, or in another record: refused where it has no form of one. */
export const Reference = z.uuid().transform((id) => id.toLowerCase());

export const ById = z.strictObject({ id: RecordId });

/** Default: the default realm. */
export const realmInput = { realmId: RecordId.optional() };

/** Of a mail or page. */
export const language = z.enum(LANGUAGES).default(DEFAULT_LANGUAGE);

/** client_id and secret cannot be changed. */
export const ClientPatch = z.strictObject({
  name: DisplayName.optional(),
  description: description.optional(),
  redirectUris: redirectUris.optional(),
  scopes: scopes.optional(),
  grantTypes: selfServiceGrants.optional(),
  responseTypes: responseTypes.optional(),
  tokenEndpointAuthMethod: tokenEndpointAuthMethod.optional(),
  enabled: z.boolean().optional(),
  requirePushedAuthorizationRequests: z.boolean().optional(),
  securityProfile: operatorsOnly,
  requirePkce,
});
export type ClientPatch = z.output<typeof ClientPatch>;

export const CreateClientInput = ClientPatch.omit({ enabled: true }).extend({
  name: DisplayName,
  description: description.default(null),
  redirectUris: redirectUris.default([]),
  scopes: scopes.default([]),
  grantTypes: selfServiceGrants.default(["authorization_code"]),
  tokenEndpointAuthMethod: tokenEndpointAuthMethod.default("client_secret_basic"),
});

export const RedirectUrisInput = z.strictObject({ redirectUris, tokenEndpointAuthMethod });

export const OperatorCreateClientInput = z.strictObject({
  ...CreateClientInput.shape,
  ...operatorAttributes,
  clientId: clientId.optional(),
  grantTypes: allGrants,
  tokenEndpointAuthMethod: operatorAuthMethod.default("client_secret_basic"),
  enabled: z.boolean().default(true),
  /** The user who manages it; default: none. */
  ownerId: Reference.nullable().default(null),
});

export const OperatorClientPatch = z.strictObject({
  ...ClientPatch.shape,
  ...operatorAttributes,
  grantTypes: allGrants.optional(),
  tokenEndpointAuthMethod: operatorAuthMethod.optional(),
  /** The user who manages it from now on; null: none. */
  ownerId: Reference.nullable().optional(),
});
export type OperatorClientPatch = z.output<typeof OperatorClientPatch>;

export const CreateApiKeyInput = z.strictObject({ name: DisplayName });
export const RegistrationScopes = scopes.nullable();
/** The weakest sign-in that a realm accepts; null: any. */
export const requiredAcr = z.enum([TWO_FACTOR_ACR, PHISHING_RESISTANT_ACR]).nullable();

/** `cursor` is the `nextCursor` of the page before. */
export const paging = {
  limit: z.int().min(1).max(200).default(50),
  cursor: z
    .string()
    .regex(/^[\w-]{1,4096}$/)
    .optional(),
};

/** The part of a list that has sorts; without `order` that of the sort, ascending for texts and descending for times. */
export const listing = <Sort extends string>(sorts: readonly [Sort, ...Sort[]]) => ({
  ...paging,
  sort: z.enum(sorts).optional(),
  order: z.enum(["asc", "desc"]).optional(),
});

/** Parts the input of a list into its filter and the part of it. The first page is counted. */
export function inParts<Input extends Pick<Part<string>, "limit" | "cursor" | "sort" | "order">>(
  input: Input,
): readonly [filter: Omit<Input, "limit" | "cursor" | "sort" | "order">, part: Part<NonNullable<Input["sort"]>>] {
  const { limit, cursor, sort, order, ...filter } = input;
  return [filter, { limit, cursor, sort, order, count: cursor === undefined }];
}

export const identifier = text(1, 512).optional();
/** For instance a whole client_id. */
export const search = text(1, 512).optional();
/** Milliseconds since the epoch, to the end of the year 9999: the database reads no later time. */
export const moment = z.int().min(0).max(253_402_300_799_999).optional();
export const secondsOf = (milliseconds: number | undefined) => (milliseconds === undefined ? undefined : milliseconds / 1000);

/** An id of this server, which are UUIDs in small letters, or another text. */
const small = (id: string): string => (z.uuid().safeParse(id).success ? id.toLowerCase() : id);
const ownId = text(1, 512).transform(small).optional();

/** An id of this server, or a client_id, whose letters an operator may have chosen: both spellings. */
const anyId = text(1, 512)
  .transform((id): readonly string[] => [...new Set([id, small(id)])])
  .optional();

/** Members of an audit record. `since` is inclusive, `until` exclusive. */
export const auditFilter = {
  event: z.enum(AUDIT_EVENTS).optional(),
  outcome: z.enum(["success", "failure"]).optional(),
  reason: identifier,
  actorId: anyId,
  userId: ownId,
  clientId: identifier,
  grantId: ownId,
  jti: identifier,
  requestId: identifier,
  /** A resource that the record names. */
  resource: text(1, 2000).optional(),
  since: moment,
  until: moment,
  /** The exact value of any identifier of a record: of the actor, user, client, grant, token or request. */
  search: anyId,
};
/** For the store in seconds since the epoch. */
export type AuditFilter = Readonly<z.output<z.ZodObject<typeof auditFilter>>>;

const flag = z.boolean().optional();

export const userFilter = {
  role: z.enum(ROLES).optional(),
  enabled: flag,
  emailVerified: flag,
  realmId: Reference.optional(),
  /** A part of the e-mail address or of a name, without regard to case; or an id. */
  search,
};
export type UserFilter = Readonly<z.output<z.ZodObject<typeof userFilter>>>;

/** Of any version, but not the nil and max UUIDs, which name no one. */
const UUID = /^[\da-f]{8}-[\da-f]{4}-[1-8][\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/i;

const ImportedUser = z.strictObject({
  /** The `sub` under which applications know the user; without one, a new UUID. */
  id: z
    .string()
    .regex(UUID, "is not a UUID (RFC 9562)")
    .transform((id) => id.toLowerCase())
    .optional(),
  email: z.email({ error: "is not an e-mail address in ASCII" }).max(254),
  emailVerified: z.boolean().default(false),
  firstName: DisplayName.nullable().default(null),
  lastName: DisplayName.nullable().default(null),
  role: z.enum(ROLES).optional(),
  /** The name of the user's realm; without one, the default realm. */
  realm: DisplayName.optional(),
  enabled: z.boolean().default(true),
  /** Without one, the user chooses a password by the page for forgotten ones. */
  passwordHash: z
    .string()
    .max(300)
    .refine(
      (encoded) => verifierOf(encoded) !== undefined,
      "is neither bcrypt (cost 4 to 14), argon2 (version 19), PBKDF2 (at most 2,000,000 iterations) nor scrypt, of at most 128 MiB; see docs/migrating.md",
    )
    .optional(),
});
export type ImportedUser = z.output<typeof ImportedUser>;

/** Users of another server. The place of a fault is the index of its user. */
export const UserImport = z.strictObject({
  users: z.array(ImportedUser).min(1).max(5000),
  /** Checks everything, and imports nothing. */
  dryRun: z.boolean().default(false),
});
