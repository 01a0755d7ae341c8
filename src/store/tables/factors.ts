import type { ChallengeKind } from "../../accounts/factors.ts";
import type { SecretHash } from "../../random.ts";
import { bigint, boolean, bytes, createdAt, id, integer, json, nullable, reference, table, text, texts, time, uuid } from "./table.ts";

export const PASSKEYS = table("passkeys", {
  id: id(),
  userId: reference("users", { index: true }),
  credentialId: bytes({ unique: true }),
  /** COSE_Key. */
  publicKey: bytes(),
  /** The signatures that the authenticator has counted; 0 if it does not count. */
  counter: bigint(),
  transports: texts(),
  /** Whether the passkey is synchronised between devices. */
  backedUp: boolean(),
  /** The make of the authenticator; zeros if it does not say. */
  aaguid: text(),
  name: text(),
  createdAt: createdAt(),
  lastUsedAt: nullable(time()),
  /** When a copy was used: since then the passkey is refused. */
  copiedAt: nullable(time()),
});

/** A user's authenticator app (TOTP). */
export const AUTHENTICATOR_APPS = table("authenticator_apps", {
  userId: reference("users", { primary: true }),
  /** Sealed with VAULT_KEY. */
  secret: text(),
  /** The last time step whose code was used; no earlier one counts. */
  lastStep: bigint({ default: "0" }),
  createdAt: createdAt(),
  /** When the user entered the first code; before, the app does not count. */
  confirmedAt: nullable(time()),
  /** In which it was begun. */
  sessionId: nullable(uuid()),
});

export const RECOVERY_CODES = table("recovery_codes", {
  codeHash: bytes<SecretHash>({ primary: true }),
  userId: reference("users", { index: true }),
  createdAt: createdAt(),
});

/** Challenges of passkeys, and sign-ins that wait for a second factor. */
export const PROOF_CHALLENGES = table(
  "proof_challenges",
  {
    idHash: bytes<SecretHash>({ primary: true }),
    kind: text<ChallengeKind>(),
    /** Null until a passkey says whose it is. */
    userId: nullable(reference("users", { index: true })),
    /** Of the proved password. */
    generation: nullable(integer()),
    /** What another provider has proved. */
    upstream: nullable(json()),
    /** A signed-in user, or a network address. */
    holder: text(),
    createdAt: createdAt(),
    expiresAt: time({ index: true }),
  },
  {
    indexes: { proof_challenges_holder_index: "(holder, created_at)" },
    checks: {
      proof_challenges_kind_check: "kind = any (array['passkey_sign_in'::text, 'passkey_registration'::text, 'second_factor'::text])",
    },
  },
);
