import { z } from "zod";
import { AGENT_MODES, AUTH_METHODS, ENVIRONMENTS, GRANT_TYPES, SELF_SERVICE_GRANT_TYPES } from "../clients/client.ts";
import { asPublicKeySet } from "../clients/key-set.ts";
import { isAbsoluteUri } from "../protocol/resource.ts";
import { isScopeToken } from "../protocol/scope.ts";

/** What no text column and no JSON column can hold: NUL, and halves of a character. */
const isStorable = (text: string): boolean => !text.includes("\0") && text.isWellFormed();

const text = (min: number, max: number) => z.string().min(min).max(max).refine(isStorable, "contains a character that cannot be stored");

const distinct = <Item extends string>(items: Item[]): Item[] => [...new Set(items)];

/** A name that shows, and shows as what it is: no control characters, none that turn the direction of the text around it. */
const name = text(1, 255)
  .refine((value) => /[^\p{White_Space}\p{Default_Ignorable_Code_Point}]/u.test(value), "must not be blank")
  .refine((value) => !/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u.test(value), "must not contain control or bidirectional characters");
const description = text(0, 2000).nullable();
const redirectUris = z.array(text(1, 2000)).max(50).transform(distinct);
const scopes = z.array(text(1, 256).refine(isScopeToken, "is no scope token (RFC 6749 §3.3)")).max(200).transform(distinct);
const responseTypes = z.array(z.enum(["code"])).transform(distinct);
const tokenEndpointAuthMethod = z.enum(AUTH_METHODS);
const selfServiceGrants = z.array(z.enum(SELF_SERVICE_GRANT_TYPES)).min(1).transform(distinct);
const allGrants = z.array(z.enum(GRANT_TYPES)).min(1).transform(distinct);

/** PKCE is required of everybody, so that this member is taken and changes nothing (specification §5). */
const requirePkce = z.boolean().optional();

/** A record's internal id. Whatever is no id is the id of nothing: it is looked up, and not found. */
export const RecordId = z.string().transform((id) => id.toLowerCase());

/** POST /api/clients (specification §4.3): what a developer may say of a new client. */
export const CreateClientInput = z.strictObject({
  name,
  description: description.default(null),
  redirectUris: redirectUris.default([]),
  scopes: scopes.default([]),
  grantTypes: selfServiceGrants.default(["authorization_code"]),
  responseTypes: responseTypes.optional(),
  tokenEndpointAuthMethod: tokenEndpointAuthMethod.default("client_secret_basic"),
  requirePkce,
});
export type CreateClientInput = z.output<typeof CreateClientInput>;

/** PATCH /api/clients/{id} (specification §4.3): client_id and secret are not among it. */
export const ClientPatch = z.strictObject({
  name: name.optional(),
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

const clientId = z
  .string()
  .regex(/^\P{Cc}{1,512}$/u, "must be 1 to 512 characters without control characters")
  .refine(isStorable);

const jwk = z
  .looseObject({ kty: text(1, 20) })
  .refine((key) => !/\\u0000|\\ud[89a-f]/i.test(JSON.stringify(key)), "contains a character that cannot be stored");

/** Attributes that an operator alone sets (specification §2.2). */
const operatorAttributes = {
  environment: z.enum(ENVIRONMENTS).nullable().optional(),
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
    .refine((set) => asPublicKeySet(set) !== undefined, "must not hold private or symmetric keys")
    // An empty set is as good as none, as it is in a provisioning file.
    .transform((set) => (set.keys.length === 0 ? null : set))
    .nullable()
    .optional(),
  jwksUri: z
    .url({ protocol: /^https$/ })
    .max(2000)
    .nullable()
    .optional(),
};

export const OperatorCreateClientInput = z.strictObject({
  ...CreateClientInput.shape,
  ...operatorAttributes,
  clientId: clientId.optional(),
  grantTypes: allGrants,
  enabled: z.boolean().default(true),
  /** The person who is to manage it; nobody when left out. */
  ownerId: z.uuid().nullable().default(null),
});
export type OperatorCreateClientInput = z.output<typeof OperatorCreateClientInput>;

export const OperatorClientPatch = z.strictObject({ ...ClientPatch.shape, ...operatorAttributes, grantTypes: allGrants.optional() });
export type OperatorClientPatch = z.output<typeof OperatorClientPatch>;

/** POST /api/clients/{id}/api-keys (specification §4.4). */
export const CreateApiKeyInput = z.strictObject({ name });
export const RegistrationScopes = scopes.nullable();

/** A part of a list: `cursor` is `nextCursor` of the part before. */
export const paging = {
  limit: z.int().min(1).max(200).default(50),
  cursor: z.uuid().optional(),
};

export const search = text(1, 200).optional();
export const identifier = text(1, 512).optional();
/** Milliseconds since the epoch, as everywhere in this API. */
export const moment = z.int().min(0).max(8_640_000_000_000_000).optional();
