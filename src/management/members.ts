import { z } from "zod";
import { AGENT_MODES, AUTH_METHODS, ENVIRONMENTS } from "../clients/client.ts";
import { keyFault } from "../clients/verification-key.ts";
import { isAbsoluteUri, isScopeToken } from "../protocol/access.ts";
import { GRANT_TYPES } from "../protocol/grants.ts";

// Members of a client, validated one by one, for the API and provisioning files. clients/coherence.ts validates them together.

/** Text and JSON columns can hold neither NUL nor unpaired surrogates. */
const isStorable = (text: string): boolean => !text.includes("\0") && text.isWellFormed();

export const text = (min: number, max: number) =>
  z.string().min(min).max(max).refine(isStorable, "contains a character that cannot be stored");

export const distinct = <Item extends string>(items: Item[]): Item[] => [...new Set(items)];

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
