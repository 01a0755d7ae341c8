import { z } from "zod";
import { isResourceUri } from "../protocol/access.ts";
import { ACR_VALUES } from "../protocol/authentication-context.ts";
import { DisplayName } from "../protocol/display-name.ts";
import { CLIENT_KINDS, isResourceScope, MAX_SCOPE_LENGTH, MAX_SCOPES } from "../resources/resource.ts";
import { storable } from "./inputs.ts";
import { wording } from "./scope-inputs.ts";

export const ResourceUri = storable(z.string().max(2000))
  .refine(isResourceUri, "is neither an https URI nor an http URI on loopback, without fragment")
  .meta({ description: "Absolute URI of the resource." });

const scope = z.strictObject({
  name: z.string().max(MAX_SCOPE_LENGTH).refine(isResourceScope, "is no scope token, or a scope that belongs to no resource"),
  title: wording(80).default({}),
  detail: wording(300).default({}),
  stepUp: z
    .strictObject({ acr: z.enum(ACR_VALUES).optional(), maxAge: z.int().min(1).max(31_536_000).optional() })
    .refine(({ acr, maxAge }) => acr !== undefined || maxAge !== undefined, "asks for nothing")
    .optional()
    .meta({ description: "The sign-in that a token with this scope needs: its class, and its age in seconds." }),
});

/** The settings of a resource. Members that are left out stay unchanged. */
export const resourceSettings = {
  name: DisplayName.optional(),
  scopes: z
    .array(scope)
    .max(MAX_SCOPES)
    .refine((scopes) => new Set(scopes.map(({ name }) => name)).size === scopes.length, "names a scope twice")
    .optional(),
  clients: z
    .array(z.enum(CLIENT_KINDS))
    .transform((kinds) => CLIENT_KINDS.filter((kind) => kinds.includes(kind)))
    .optional(),
  accessTokenLifetime: z.int().min(1).max(86_400).nullable().optional(),
  enabled: z.boolean().optional(),
};
