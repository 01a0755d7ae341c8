import { z } from "zod";
import { ed25519Private, ed25519Public, mldsaPrivate, rsaPrivate, verificationKeys } from "../key-material.ts";
import { flag, listOf, oneOf, SPACES_OR_COMMAS, says, settingsOf, text, url, whole } from "./forms.ts";

const storage = settingsOf("Storage");

const hasDatabaseNumber = (value: string) => /^(?:\/\d{0,5})?$/.test(new URL(value).pathname);

const isDecodable = (value: string) => {
  const { username, password } = new URL(value);
  try {
    decodeURIComponent(username);
    decodeURIComponent(password);
    return true;
  } catch {
    return false;
  }
};

/** In its canonical spelling: the client of Redis compares the scheme letter by letter, and speaks without TLS to `REDISS://`. */
const redisUrl = url(["redis", "rediss"]).pipe(
  z
    .string()
    .refine(hasDatabaseNumber, says("has a path that is not the number of a database", "end it after the port, or with /1"))
    .refine(isDecodable, says("has a user name or password with a lone %", "write % as %25"))
    .transform((value) => new URL(value).href),
);

export const STORAGE_SETTINGS = {
  DATABASE_URL: storage(url(["postgres", "postgresql"]).optional(), "PostgreSQL 15 or newer.", {
    unset: "an embedded database under DATA_DIR/pg",
    file: true,
  }),
  DATABASE_CONNECTIONS: storage(
    whole(2, 1_000, "a number of connections").optional(),
    "Connections to PostgreSQL that this process and its WORKERS open at most, together.",
    { unset: "8 for each worker", needs: "DATABASE_URL" },
  ),
  DATABASE_POOLER: storage(
    oneOf(["none", "transaction"]).default("none"),
    "`transaction` where DATABASE_URL leads to PgBouncer or another pooler in transaction mode. See docs/production.md.",
  ),
  REDIS_URL: storage(
    redisUrl.optional(),
    "Redis for rate limits and shared caches. Servers with different JWT_ISSUER can share one. It never holds the only copy of anything that security depends on.",
    { unset: "in this process", file: true },
  ),
  DATA_DIR: storage(z.string().default("./data"), "Embedded database, development keys, outbox. Created when missing, mode 0700."),
  MIGRATE_ON_START: storage(
    flag().default(true),
    "Whether `serve` migrates the database before it listens; `countersign migrate` does so separately.",
  ),
};

const mail = settingsOf("Mail");

const isMailbox = (value: string) => /^(?:[^<>@\p{Cc}]*<[^\s<>@]+@[^\s<>@]+>|[^\s<>@]+@[^\s<>@]+)$/u.test(value);

export const MAIL_SETTINGS = {
  SMTP_URL: mail(
    url(["smtp", "smtps"]).optional(),
    "Mail server: `smtps://user:password@host`, or `smtp://…`, which uses TLS when the server offers it and only then, unless it ends in `?requireTLS=true`.",
    {
      unset: "mails are written to files under DATA_DIR/outbox, and their paths are logged, in development with the link in them",
      file: true,
    },
  ),
  MAIL_FROM: mail(text(isMailbox, "is not a mailbox", "give an address, or Name <address>").optional(), "Sender of mails.", {
    unset: "`Countersign <no-reply@…>` at the issuer's host",
  }),
};

const key = settingsOf("Keys");

const isVaultKey = (value: string) => /^[A-Za-z0-9+/_-]+=?$/.test(value) && Buffer.from(value, "base64").length === 32;

export const KEY_SETTINGS = {
  JWT_PRIVATE_KEY: key(ed25519Private().optional(), "Ed25519 private key, PKCS#8 PEM, that signs tokens.", {
    unset: "generated once and kept under DATA_DIR; in production the start is refused",
    file: true,
  }),
  JWT_PUBLIC_KEY: key(ed25519Public().optional(), "Ed25519 public key, SPKI PEM, of JWT_PRIVATE_KEY.", {
    unset: "derived from JWT_PRIVATE_KEY",
    file: true,
  }),
  JWT_PREVIOUS_PRIVATE_KEY: key(
    ed25519Private().optional(),
    "The previous Ed25519 private key, which signs until JWT_PRIVATE_KEY has been published for 300 s. See docs/keys.md.",
    { file: true },
  ),
  JWT_RETIRED_PUBLIC_KEYS: key(
    verificationKeys().optional(),
    "PEM bundle of earlier and upcoming public keys, which are published and accepted for verification. See docs/keys.md.",
    { file: true },
  ),
  ID_TOKEN_SIGNING_ALG: key(
    oneOf(["EdDSA", "RS256"]).default("EdDSA"),
    "Signature algorithm of ID tokens. Access tokens are never signed with `RS256`.",
  ),
  JWT_RSA_PRIVATE_KEY: key(rsaPrivate().optional(), "RSA private key (PEM, at least 2048 bits) for RS256.", {
    unset: "generated with RS256 outside production; in production RS256 is refused without it",
    file: true,
    needs: "ID_TOKEN_SIGNING_ALG",
  }),
  VAULT_KEY: key(
    text(isVaultKey, "is not a base64 text of 32 bytes", "make one with `openssl rand -base64 32`").optional(),
    "Encrypts the secrets that the server must be able to read again, such as client secrets of connections (AES-256-GCM). Every front needs the same.",
    { unset: "generated once and kept under DATA_DIR; in production such secrets are refused", file: true },
  ),
  VAULT_KEY_PREVIOUS: key(
    listOf(
      SPACES_OR_COMMAS,
      isVaultKey,
      "contains something that is not a base64 text of 32 bytes",
      "give keys separated by commas",
    ).default([]),
    "Earlier and upcoming keys for VAULT_KEY, which open secrets and encrypt none. Where it is set, a start encrypts all secrets by VAULT_KEY. See docs/keys.md.",
    { file: true },
  ),
  JWT_MLDSA_PRIVATE_KEY: key(
    mldsaPrivate().optional(),
    "ML-DSA-65 private key, PKCS#8 PEM or JWK. When set, its public key is published even while hybrid signing is off.",
    { file: true },
  ),
};
