import { z } from "zod";
import { AGENT_MODES, AUTH_METHODS, ENVIRONMENTS } from "../clients/client.ts";
import { keyFault } from "../clients/verification-key.ts";
import { isAbsoluteUri, isScopeToken } from "../protocol/access.ts";
import { DisplayName } from "../protocol/display-name.ts";
import { GRANT_TYPES, SELF_SERVICE_GRANT_TYPES } from "../protocol/grants.ts";

// Members of a client, validated one by one, for the API and provisioning files. clients/coherence.ts validates them together.

/** Text and JSON columns can hold neither NUL nor unpaired surrogates. */
const isStorable = (text: string): boolean => !text.includes("\0") && text.isWellFormed();

const text = (min: number, max: number) => z.string().min(min).max(max).refine(isStorable, "contains a character that cannot be stored");

const distinct = <Item extends string>(items: Item[]): Item[] => [...new Set(items)];

export const description = text(0, 2000).nullable();
export const redirectUris = z.array(text(1, 2000)).max(50).transform(distinct);
export const scopes = z.array(text(1, 256).refine(isScopeToken, "is no scope token (RFC 6749 §3.3)")).max(200).transform(distinct);
export const responseTypes = z.array(z.enum(["code"])).transform(distinct);
export const tokenEndpointAuthMethod = z.enum(AUTH_METHODS);
export const allGrants = z.array(z.enum(GRANT_TYPES)).min(1).transform(distinct);

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
  isAgent: z.boolean().optional(),
  maxAgentMode: z.enum(AGENT_MODES).nullable().optional(),
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
  jwksUri: z
    .url({ protocol: /^https$/ })
    .max(2000)
    .nullable()
    .optional(),
};

const selfServiceGrants = z.array(z.enum(SELF_SERVICE_GRANT_TYPES)).min(1).transform(distinct);

/** PKCE is always required, so this is accepted and ignored. @see docs/protocol.md#clients */
const requirePkce = z.boolean().optional();

/** A record's internal id. Any other text is looked up too, and not found. */
export const RecordId = z.string().transform((id) => id.toLowerCase());

export const CreateClientInput = z.strictObject({
  name: DisplayName,
  description: description.default(null),
  redirectUris: redirectUris.default([]),
  scopes: scopes.default([]),
  grantTypes: selfServiceGrants.default(["authorization_code"]),
  responseTypes: responseTypes.optional(),
  tokenEndpointAuthMethod: tokenEndpointAuthMethod.default("client_secret_basic"),
  requirePkce,
});

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
  requirePkce,
});
export type ClientPatch = z.output<typeof ClientPatch>;

export const OperatorCreateClientInput = z.strictObject({
  ...CreateClientInput.shape,
  ...operatorAttributes,
  clientId: clientId.optional(),
  grantTypes: allGrants,
  enabled: z.boolean().default(true),
  /** The user who manages it; default: none. */
  ownerId: z.uuid().nullable().default(null),
});

export const OperatorClientPatch = z.strictObject({
  ...ClientPatch.shape,
  ...operatorAttributes,
  grantTypes: allGrants.optional(),
  /** The user who manages it from now on; null: none. */
  ownerId: z.uuid().nullable().optional(),
});
export type OperatorClientPatch = z.output<typeof OperatorClientPatch>;

export const CreateApiKeyInput = z.strictObject({ name: DisplayName });
export const RegistrationScopes = scopes.nullable();

/** `cursor` is the `nextCursor` of the page before. */
export const paging = { limit: z.int().min(1).max(200).default(50), cursor: z.uuid().optional() };

export const search = text(1, 200).optional();
export const identifier = text(1, 512).optional();
/** Milliseconds since the epoch. */
export const moment = z.int().min(0).max(8_640_000_000_000_000).optional();
