import { z } from "zod";
import { Accent } from "../branding/colour.ts";
import { logoFault, MAX_LOGO } from "../branding/logo.ts";
import { CLIENT_ASSERTION_ALGORITHMS } from "../clients/client.ts";
import { MAX_IDENTITIES, MAX_IDENTITY_CLAIMS, WORKLOAD_KINDS } from "../clients/workload.ts";
import { isResourceUri, isScopeToken, parsedSpelling } from "../protocol/access.ts";
import { ACR_VALUES } from "../protocol/authentication-context.ts";
import { DisplayName, isVisible } from "../protocol/display-name.ts";
import { CLIENT_KINDS, isResourceScope, MAX_SCOPE_LENGTH, MAX_SCOPES, resourceKey } from "../resources/resource.ts";
import { LANGUAGES } from "../texts/languages.ts";
import { CONNECTION_AUTH_METHODS, CONNECTION_NAME, PRESETS } from "../upstream/connection.ts";
import { storable } from "./inputs.ts";

/** Line breaks, other control characters, and characters that reorder or hide the text around them. */
const HIDDEN = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}]/u;

/** One visible line. */
export const line = (max: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(max)
    .refine((text) => text.isWellFormed() && !HIDDEN.test(text), "must not contain control, bidirectional or invisible characters")
    .refine((text) => text === "" || HIDDEN.test(text) || isVisible(text), "must not be blank");

/** A text in each language; languages may be left out. */
const wording = (max: number) => z.partialRecord(z.enum(LANGUAGES), line(max));

/** The name of a realm as operators read it, so no blank or invisible character makes two of one. */
export const RealmName = line(255);

/** The fault of a name that no realm has yet, if any. */
export function realmNameFault(name: string): string | undefined {
  const { data, error } = RealmName.safeParse(name);
  if (error !== undefined) return error.issues[0]?.message;
  return data === name ? undefined : "must not begin or end with a blank";
}

export const ScopeName = z.string().max(256).refine(isScopeToken, "is no scope token (RFC 6749 §3.3)");

/** What a scope allows, as the consent page shows it. */
export const ScopeDescriptionInput = z.strictObject({
  name: ScopeName,
  title: wording(80).refine((title) => Object.values(title).some((text) => text !== undefined), "needs words in at least one language"),
  detail: wording(300).default({}),
});

const page = storable(z.url({ protocol: /^https?$/, error: "must be a URL" }).max(2000));

/** An image in base64. Its type is that of its bytes. */
const logo = z
  .base64()
  .max(Math.ceil(MAX_LOGO / 3) * 4 + 4)
  .check(({ value, issues }) => {
    const wrong = logoFault(Buffer.from(value, "base64"));
    if (wrong !== undefined) issues.push({ code: "custom", message: `${wrong.fault}; ${wrong.remedy}`, input: value });
  });

/** What a realm has of its own. Members that are left out stay unchanged; null leaves them to the deployment. */
export const BrandingInput = z
  .strictObject({
    name: line(80).nullable(),
    logo: logo.nullable(),
    accent: Accent.nullable(),
    termsUrl: page.nullable(),
    privacyUrl: page.nullable(),
    support: z.union([z.email(), page], { error: "must be an e-mail address or a URL" }).nullable(),
  })
  .partial();

export type BrandingChange = z.output<typeof BrandingInput>;

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

export const ResourceUri = storable(z.string().max(2000))
  .refine(isResourceUri, "is neither an https URI nor an http URI on loopback, without fragment")
  .meta({ description: "Absolute URI of the resource." });

/** The same for a record that is to be made: with the spelling that clients and resource servers make of it, or no request would name it. */
export const NewResourceUri = ResourceUri.check(({ value, issues }) => {
  const parsed = parsedSpelling(value);
  if (parsed !== value) issues.push({ code: "custom", message: `must be written ${resourceKey(parsed)}`, input: value });
});

const scope = z.strictObject({
  name: z.string().max(MAX_SCOPE_LENGTH).refine(isResourceScope, "is no scope token, or a scope that belongs to no resource"),
  title: wording(80).default({}),
  detail: wording(300).default({}),
  stepUp: z
    .strictObject({ acr: z.enum(ACR_VALUES).optional(), maxAge: z.int().min(60).max(31_536_000).optional() })
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

/** Visible characters, which a URL or a name on a platform consists of. */
const words = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .regex(/^\P{Cc}+$/u, "has a control character")
    .refine((text) => text.isWellFormed(), "contains a character that cannot be stored");

const url = words(2_000).nullable();

/** What operators may change of a platform. Members that are left out stay unchanged, or have their default. */
export const workloadSettings = {
  jwksUri: url.optional(),
  bundleEndpoint: url.optional(),
  algorithms: z
    .array(z.enum(CLIENT_ASSERTION_ALGORITHMS))
    .min(1)
    .transform((names) => [...new Set(names)])
    .optional(),
  maxLifetime: z.int().min(60).max(86_400).optional(),
  singleUse: z.boolean().optional(),
  allowPrivate: z.boolean().optional(),
};

export const Issuer = words(2_000);

/** A platform that is trusted. @see docs/workloads.md */
export const WorkloadIssuerInput = z.strictObject({ issuer: Issuer, kind: z.enum(WORKLOAD_KINDS), ...workloadSettings });
export type WorkloadIssuerInput = z.output<typeof WorkloadIssuerInput>;

const claims = z
  .record(words(64), words(512))
  .refine((named) => Object.keys(named).length <= MAX_IDENTITY_CLAIMS, `names more than ${MAX_IDENTITY_CLAIMS} claims`);

/** What a platform calls a workload. */
export const WorkloadIdentityInput = z.strictObject({ issuer: Issuer, subject: words(2_048), claims: claims.default({}) });

export const workloadIdentities = z.array(WorkloadIdentityInput).max(MAX_IDENTITIES);
