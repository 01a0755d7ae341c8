import { z } from "zod";
import { DisplayName } from "../protocol/display-name.ts";
import { SELF_SERVICE_GRANT_TYPES } from "../protocol/grants.ts";
import {
  allGrants,
  clientId,
  description,
  distinct,
  operatorAttributes,
  redirectUris,
  responseTypes,
  scopes,
  text,
  tokenEndpointAuthMethod,
} from "./members.ts";

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
export const paging = {
  limit: z.int().min(1).max(200).default(50),
  cursor: z.uuid().optional(),
};

export const search = text(1, 200).optional();
export const identifier = text(1, 512).optional();
/** Milliseconds since the epoch. */
export const moment = z.int().min(0).max(8_640_000_000_000_000).optional();
