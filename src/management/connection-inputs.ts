import { z } from "zod";
import { DisplayName } from "../protocol/display-name.ts";
import { CONNECTION_AUTH_METHODS, CONNECTION_NAME, PRESETS } from "../upstream/connection.ts";
import { storable } from "./inputs.ts";

export const ConnectionName = z.string().regex(CONNECTION_NAME, "is no name of lower-case letters, digits and hyphens");

const isIssuer = (value: string): boolean => {
  const url = URL.parse(value);
  return url !== null && ["https:", "http:"].includes(url.protocol) && url.username === "" && !/[?#]/.test(value);
};

const domain = z
  .string()
  .max(253)
  .regex(/^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{2,63}$/i, "is not a domain")
  .transform((value) => value.toLowerCase());

/** What operators may change. Members that are left out stay unchanged, or have their default. */
export const connectionSettings = {
  title: DisplayName.optional(),
  scopes: z
    .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,255}$/, "is no scope token"))
    .max(50)
    .optional(),
  domains: z.array(domain).max(1000).optional(),
  trustsAcr: z.boolean().optional(),
  enabled: z.boolean().optional(),
  clientSecret: z.string().min(1).max(2000).optional(),
};

/** What a new connection is made of. @see docs/sign-in.md */
export const newConnection = {
  ...connectionSettings,
  name: ConnectionName.optional(),
  preset: z.enum(PRESETS).optional(),
  tenant: z
    .string()
    .regex(/^[A-Za-z0-9.-]{1,128}$/, "is no directory id")
    .optional(),
  issuer: storable(z.string().max(2000)).refine(isIssuer, "is no issuer identifier").optional(),
  clientId: storable(z.string().min(1).max(255)),
  authMethod: z.enum(CONNECTION_AUTH_METHODS).optional(),
};
