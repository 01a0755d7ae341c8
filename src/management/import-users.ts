import { z } from "zod";
import { verifierOf } from "../accounts/hashing-job.ts";
import { ROLES } from "../accounts/ports.ts";
import { DisplayName } from "../protocol/display-name.ts";

/** Of any version, but not the nil and max UUIDs, which name no one. */
const UUID = /^[\da-f]{8}-[\da-f]{4}-[1-8][\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/i;

const ImportedUser = z.strictObject({
  /** The `sub` under which applications know the user; without one, a new UUID. */
  id: z
    .string()
    .regex(UUID, "is not a UUID (RFC 9562)")
    .transform((id) => id.toLowerCase())
    .optional(),
  email: z.email({ error: "is not an e-mail address" }).max(254),
  emailVerified: z.boolean().default(false),
  firstName: DisplayName.nullable().default(null),
  lastName: DisplayName.nullable().default(null),
  role: z.enum(ROLES).optional(),
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
