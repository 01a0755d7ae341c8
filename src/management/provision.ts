import { readFileSync } from "node:fs";
import { z } from "zod";
import { AGENT_MODES, AUTH_METHODS, ENVIRONMENTS, GRANT_TYPES } from "../clients/client.ts";
import { redirectUriFault } from "../clients/redirect-uri.ts";
import { isAbsoluteUri } from "../protocol/resource.ts";
import { isScopeToken } from "../protocol/scope.ts";
import { ScopeDescriptionInput } from "./scope-inputs.ts";

const scopes = z.array(z.string().refine(isScopeToken, "is no scope token (RFC 6749 §3.3)"));
const email = z.email().max(254);
/** A client_id may be any text without control characters, a URN for instance. */
const clientId = z.string().regex(/^\P{Cc}{1,512}$/u, "must be 1 to 512 characters without control characters");

const PRIVATE_JWK_MEMBERS = ["d", "p", "q", "dp", "dq", "qi", "oth", "k", "priv"];
const publicJwk = z
  .looseObject({ kty: z.string() })
  .refine((jwk) => PRIVATE_JWK_MEMBERS.every((member) => !(member in jwk)), "must not hold private key members");

const realm = z.strictObject({ name: z.string().min(1).max(255), dynamicRegistrationScopes: scopes.optional() });

const user = z.strictObject({
  email,
  password: z.string().min(8).max(128),
  emailVerified: z.boolean().optional(),
  firstName: z.string().max(255).nullable().optional(),
  lastName: z.string().max(255).nullable().optional(),
  role: z.enum(["developer", "operator"]).optional(),
});

const client = z
  .strictObject({
    clientId,
    clientSecret: z.string().min(1).max(512).optional(),
    name: z.string().min(1).max(255),
    description: z.string().max(2000).nullable().optional(),
    redirectUris: z.array(z.string()).optional(),
    scopes: scopes.optional(),
    grantTypes: z.array(z.enum(GRANT_TYPES)).min(1),
    responseTypes: z.array(z.enum(["code"])).optional(),
    tokenEndpointAuthMethod: z.enum(AUTH_METHODS),
    environment: z.enum(ENVIRONMENTS).nullable().optional(),
    isAgent: z.boolean().optional(),
    maxAgentMode: z.enum(AGENT_MODES).nullable().optional(),
    audience: z
      .array(z.string().refine((value) => isAbsoluteUri(value) || clientId.safeParse(value).success))
      .nullable()
      .optional(),
    jwks: z
      .strictObject({ keys: z.array(publicJwk) })
      .nullable()
      .optional(),
    jwksUri: z
      .url({ protocol: /^https$/ })
      .nullable()
      .optional(),
    ownerEmail: email.nullable().optional(),
    enabled: z.boolean().optional(),
  })
  .check(({ value, issues }) => {
    const fault = (path: PropertyKey[], message: string): void => {
      issues.push({ code: "custom", path, message, input: value });
    };
    value.redirectUris?.forEach((uri, index) => {
      const wrong = redirectUriFault(uri, value.environment ?? null);
      if (wrong !== undefined) fault(["redirectUris", index], wrong);
    });
    const secretMethod = value.tokenEndpointAuthMethod.startsWith("client_secret");
    if (value.clientSecret !== undefined && !secretMethod) fault(["clientSecret"], `goes with no ${value.tokenEndpointAuthMethod} client`);
    const published = value.jwks != null && value.jwks.keys.length > 0;
    if (published && value.jwksUri != null) fault(["jwksUri"], "goes with no jwks: give one of the two");
    if (value.tokenEndpointAuthMethod === "private_key_jwt" && !published && value.jwksUri == null)
      fault(["jwks"], "private_key_jwt needs jwks or jwksUri");
  });

const describedScope = z.strictObject({ ...ScopeDescriptionInput.shape, realm: z.string().min(1).max(255).optional() });

const distinct =
  <Entry>(key: (entry: Entry) => string) =>
  (entries: readonly Entry[]): boolean =>
    new Set(entries.map(key)).size === entries.length;

/** What an operator lays down in a file: realms, people and clients that are to be there. Members that are left out keep what they are. */
export const ProvisionFile = z.strictObject({
  realms: z
    .array(realm)
    .refine(
      distinct<z.infer<typeof realm>>((entry) => entry.name),
      "names a realm twice",
    )
    .default([]),
  users: z
    .array(user)
    .refine(
      distinct<z.infer<typeof user>>((entry) => entry.email.toLowerCase()),
      "names an e-mail address twice",
    )
    .default([]),
  clients: z
    .array(client)
    .refine(
      distinct<z.infer<typeof client>>((entry) => entry.clientId),
      "names a clientId twice",
    )
    .default([]),
  /** In words for people; of the default realm where none is named. */
  scopes: z
    .array(describedScope)
    .refine(
      distinct<z.infer<typeof describedScope>>((entry) => `${entry.realm ?? "default"} ${entry.name}`),
      "describes a scope twice",
    )
    .default([]),
});
export type ProvisionFile = z.infer<typeof ProvisionFile>;

/** Why a provisioning file was refused, one line a fault. Nothing was written. */
export class ProvisionError extends Error {
  override readonly name = "ProvisionError";
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(faults.join("\n"));
    this.faults = faults;
  }
}

/** @throws {ProvisionError} naming every fault by its path; values are not repeated, for some are secret */
export function parseProvisionFile(text: string): ProvisionFile {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new ProvisionError(["the file is not JSON"]);
  }
  const parsed = ProvisionFile.safeParse(json);
  if (parsed.success) return parsed.data;
  throw new ProvisionError(parsed.error.issues.map(({ path, message }) => `${path.join(".") || "file"}: ${message}`));
}

/**
 * @param named how the file is called in its faults
 * @throws {ProvisionError} also for a file that cannot be read
 */
export function readProvisionFile(path: string, named: string = path): ProvisionFile {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch {
    throw new ProvisionError([`${named}: the provisioning file cannot be read`]);
  }
  try {
    return parseProvisionFile(text);
  } catch (error) {
    throw error instanceof ProvisionError ? new ProvisionError(error.faults.map((fault) => `${named}: ${fault}`)) : error;
  }
}
