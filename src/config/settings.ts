import { accessSync, constants } from "node:fs";
import { isIP } from "node:net";
import { z } from "zod";
import {
  ed25519Private,
  ed25519Public,
  mldsaPrivate,
  p256Private,
  rsaPrivate,
  tlsCertificate,
  tlsPrivateKey,
  verificationKeys,
} from "./key-material.ts";

/** What the settings reference and the loader know of a setting besides its form. */
export interface SettingMeta {
  readonly group: string;
  readonly description: string;
  /** What holds when the setting is not there and no fixed default can say it. */
  readonly unset?: string;
  /** `@path` stands for the content of the file at path. Every setting that may carry a secret has this. */
  readonly file?: boolean;
}

export const DAY = 86_400;

/** The text of a fault: what is wrong, and what to do about it. Never the value. */
export const says = (fault: string, remedy: string) => `${fault}; ${remedy}`;

const text = (test: (value: string) => boolean, fault: string, remedy: string) => z.string().refine(test, says(fault, remedy));

const whole = (min: number, max: number, what: string) =>
  text(
    (value) => /^\d{1,9}$/.test(value) && Number(value) >= min && Number(value) <= max,
    `is no whole number from ${min} to ${max}`,
    `give ${what} in digits`,
  ).transform(Number);

const seconds = (min: number, max: number) => whole(min, max, "seconds");

const flag = () => z.stringbool({ error: says("is neither true nor false", "set true or false") });

const oneOf = <const T extends readonly [string, ...string[]]>(words: T) =>
  z.enum(words, { error: says("is a word that this setting does not know", `set ${words.join(" or ")}`) });

const url = (schemes: readonly string[]) =>
  text(
    (value) => URL.canParse(value) && schemes.includes(new URL(value).protocol.slice(0, -1)) && new URL(value).hostname !== "",
    `is no URL of the form ${schemes.map((scheme) => `${scheme}://…`).join(" or ")}`,
    "give the whole URL",
  );

/** Issuer identifiers are compared as strings, so only the one canonical spelling is taken. @see RFC 8414 §2, OpenID Connect Discovery §3 */
export const isIssuer = (value: string) => {
  if (!URL.canParse(value) || value.endsWith("/") || /[?#]/.test(value)) return false;
  const { protocol, username, password, href, pathname } = new URL(value);
  return /^https?:$/.test(protocol) && username === "" && password === "" && (pathname === "/" ? `${value}/` : value) === href;
};

const issuerText = () =>
  text(
    isIssuer,
    "is no issuer identifier",
    "give an http(s) URL in lower case, without credentials, default port, trailing slash, query and fragment",
  );

/** One scope token. @see RFC 6749 §3.3 */
const isScope = (word: string) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(word);
const words = (value: string, separator: RegExp) => [...new Set(value.split(separator).filter((word) => word !== ""))];

/** Claims that tell of the credential, not of the person. */
const NO_SUBJECT: ReadonlySet<string> = new Set(["iss", "iat", "nbf", "exp", "cnf", "vct", "status", "_sd", "_sd_alg"]);

const isReadable = (path: string) => {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
};

const isHost = (value: string) => isIP(value) !== 0 || /^(?!.*\.\.)[a-z0-9]([a-z0-9._-]{0,251}[a-z0-9])?$/i.test(value);
const host = () => text(isHost, "is no host name or IP address", "give one without scheme, port and brackets");
const isMailbox = (value: string) => /^(?:[^<>@\p{Cc}]*<[^\s<>@]+@[^\s<>@]+>|[^\s<>@]+@[^\s<>@]+)$/u.test(value);

const meta = (
  group: string,
  description: string,
  more: Omit<SettingMeta, "group" | "description"> = {},
): SettingMeta & Record<string, unknown> => ({
  group,
  description,
  ...more,
});

const LISTENERS = "Listeners and addresses";
const STORAGE = "Storage";
const KEYS = "Keys";
const SPLIT = "Front and token core as processes of their own";
const MAIL = "Mail";
const LIFETIMES = "Lifetimes";
const PEOPLE = "People";
const CLIENTS = "Clients and registration";
const FEATURES = "Identity assertions, post-quantum signatures";
const WALLETS = "Wallets";
const OPERATION = "Operation";

/** Every setting there is. The loader, the list of known names and docs/settings.md are all read off this one table. */
export const SETTINGS = z.object({
  HOST: host().default("localhost").meta(meta(LISTENERS, "Address of the HTTP listener. `localhost` listens on both loopback addresses.")),
  PORT: whole(0, 65_535, "a port")
    .default(3000)
    .meta(meta(LISTENERS, "Port of the HTTP listener; 0 lets the system choose, and then JWT_ISSUER must be set.")),
  GRPC_HOST: host().default("127.0.0.1").meta(meta(LISTENERS, "Address of the gRPC listener.")),
  GRPC_PORT: whole(0, 65_535, "a port").default(3001).meta(meta(LISTENERS, "Port of the gRPC listener.")),
  GRPC_TLS_CERT: tlsCertificate()
    .optional()
    .meta(meta(LISTENERS, "Certificate chain (PEM) of the gRPC listener.", { unset: "h2c, without TLS", file: true })),
  GRPC_TLS_KEY: tlsPrivateKey()
    .optional()
    .meta(meta(LISTENERS, "Private key (PEM) of GRPC_TLS_CERT.", { file: true })),
  GRPC_TLS_CLIENT_CA: tlsCertificate()
    .optional()
    .meta(
      meta(LISTENERS, "Authorities (PEM) whose client certificates prove a front to a core: mutual TLS. Resource servers need none.", {
        file: true,
      }),
    ),
  JWT_ISSUER: issuerText()
    .optional()
    .meta(
      meta(
        LISTENERS,
        "Issuer identifier and base URL of every address that is published. With NODE_ENV=production `https`, loopback hosts excepted.",
        {
          unset: "`http://localhost:PORT`",
        },
      ),
    ),
  TRUST_PROXY: flag()
    .default(false)
    .meta(
      meta(
        LISTENERS,
        "Whether X-Forwarded-* is believed for the client's address. Set it only behind a proxy that writes these headers itself.",
      ),
    ),

  DATABASE_URL: url(["postgres", "postgresql"])
    .optional()
    .meta(meta(STORAGE, "PostgreSQL 15 or newer.", { unset: "an embedded database under DATA_DIR/pg", file: true })),
  REDIS_URL: url(["redis", "rediss"])
    .optional()
    .meta(
      meta(
        STORAGE,
        "Redis for rate limits, shared caches and wake-up messages. Nothing that decides a security question lives there alone.",
        { unset: "in this process", file: true },
      ),
    ),
  DATA_DIR: z
    .string()
    .default("./data")
    .meta(meta(STORAGE, "Embedded database, development keys, outbox. Created when missing, mode 0700.")),
  MIGRATE_ON_START: flag()
    .default(true)
    .meta(meta(STORAGE, "Whether `serve` migrates the database before it listens; `countersign migrate` does it apart.")),

  JWT_PRIVATE_KEY: ed25519Private()
    .optional()
    .meta(
      meta(KEYS, "Ed25519 private key, PKCS#8 PEM, that signs tokens.", {
        unset: "generated once and kept under DATA_DIR; in production the start is refused",
        file: true,
      }),
    ),
  JWT_PUBLIC_KEY: ed25519Public()
    .optional()
    .meta(meta(KEYS, "Ed25519 public key, SPKI PEM, of JWT_PRIVATE_KEY.", { unset: "derived from JWT_PRIVATE_KEY", file: true })),
  JWT_PREVIOUS_PRIVATE_KEY: ed25519Private()
    .optional()
    .meta(
      meta(KEYS, "The Ed25519 private key of before: it signs until JWT_PRIVATE_KEY has been published for 300 s. See docs/keys.md.", {
        file: true,
      }),
    ),
  JWT_RETIRED_PUBLIC_KEYS: verificationKeys()
    .optional()
    .meta(meta(KEYS, "PEM bundle of earlier and of coming public keys: published and verified. See docs/keys.md.", { file: true })),
  ID_TOKEN_SIGNING_ALG: oneOf(["EdDSA", "RS256"])
    .default("EdDSA")
    .meta(meta(KEYS, "Signature of ID tokens. `RS256` concerns them only, never access tokens.")),
  JWT_RSA_PRIVATE_KEY: rsaPrivate()
    .optional()
    .meta(
      meta(KEYS, "RSA private key (PEM, at least 2048 bits) for RS256.", {
        unset: "generated with RS256 outside production; in production RS256 is refused without it",
        file: true,
      }),
    ),
  JWT_MLDSA_PRIVATE_KEY: mldsaPrivate()
    .optional()
    .meta(
      meta(KEYS, "ML-DSA-65 private key, PKCS#8 PEM or JWK. When set, its public key is published even while hybrid signing is off.", {
        file: true,
      }),
    ),

  TOKEN_CORE_URL: url(["http", "https"])
    .optional()
    .meta(
      meta(SPLIT, "Address of the token core that a front uses, `http://` (h2c) or `https://`. For `--role front` only.", {
        unset: "in this process",
      }),
    ),
  TOKEN_CORE_SECRET: z
    .string()
    .optional()
    .meta(
      meta(
        SPLIT,
        "Secret that a front presents to a core; a core that listens beyond loopback demands it, or mutual TLS. In production at least 32 characters.",
        { file: true },
      ),
    ),
  TOKEN_CORE_CA: tlsCertificate()
    .optional()
    .meta(
      meta(SPLIT, "Authorities (PEM) that a front believes for the core's certificate.", { unset: "those of the runtime", file: true }),
    ),
  TOKEN_CORE_TLS_CERT: tlsCertificate()
    .optional()
    .meta(meta(SPLIT, "Certificate chain (PEM) that a front presents to a core: mutual TLS.", { file: true })),
  TOKEN_CORE_TLS_KEY: tlsPrivateKey()
    .optional()
    .meta(meta(SPLIT, "Private key (PEM) of TOKEN_CORE_TLS_CERT.", { file: true })),

  SMTP_URL: url(["smtp", "smtps"])
    .optional()
    .meta(
      meta(
        MAIL,
        "Mail server: `smtps://user:password@host`, or `smtp://…`, which uses TLS when the server offers it and only then, unless it ends in `?requireTLS=true`.",
        { unset: "mails are files under DATA_DIR/outbox, whose path is printed", file: true },
      ),
    ),
  MAIL_FROM: text(isMailbox, "is no mailbox", "give an address, or Name <address>")
    .optional()
    .meta(meta(MAIL, "Sender of mails.", { unset: "`Countersign <no-reply@…>` at the issuer's host" })),

  ACCESS_TOKEN_TTL: seconds(1, DAY).default(900).meta(meta(LIFETIMES, "Seconds that an access token lives.")),
  ID_TOKEN_TTL: seconds(1, DAY).default(900).meta(meta(LIFETIMES, "Seconds that an ID token lives.")),
  REFRESH_TOKEN_TTL: seconds(1, 90 * DAY)
    .default(30 * DAY)
    .meta(meta(LIFETIMES, "Seconds that a refresh token lives, from each rotation. A family ends at most 90 days after it began.")),
  REFRESH_TOKEN_REUSE_GRACE: seconds(0, 300)
    .default(0)
    .meta(
      meta(
        LIFETIMES,
        "Seconds in which the directly preceding token of a family, shown again by the same client with the same scope and resource, still gets a working answer. 0 ends the family at once, as the specification has it.",
      ),
    ),
  AUTHORIZATION_CODE_TTL: seconds(1, 600).default(60).meta(meta(LIFETIMES, "Seconds that an authorization code lives.")),
  SESSION_TTL: seconds(1, 30 * DAY)
    .default(28_800)
    .meta(meta(LIFETIMES, "Seconds that a browser session lives after sign-in.")),

  SIGN_UP_RATE_LIMIT: whole(1, 1_000_000, "a number of requests")
    .default(10)
    .meta(meta(PEOPLE, "Accounts that may be opened from one address in a window.")),
  SIGN_UP_RATE_WINDOW: seconds(1, DAY).default(3600).meta(meta(PEOPLE, "Seconds of that window.")),

  DEFAULT_DYNAMIC_REGISTRATION_SCOPES: text(
    (value) => words(value, / +/).length > 0 && words(value, / +/).every(isScope),
    "is no list of scopes",
    "give scope tokens (RFC 6749 section 3.3) separated by spaces",
  )
    .transform((value) => words(value, / +/))
    .default(["openid", "profile", "email", "offline_access"])
    .meta(meta(CLIENTS, "Scopes that a dynamically registered client can have at most, separated by spaces.")),
  DYNAMIC_CLIENT_SCOPE: oneOf(["registered", "realm"])
    .default("registered")
    .meta(
      meta(
        CLIENTS,
        "Allowlist of a dynamically registered client: what it registered, capped by the realm (`registered`), or all that the realm allows (`realm`).",
      ),
    ),
  REGISTER_CLIENT_RATE_LIMIT: whole(1, 1_000_000, "a number of requests")
    .default(30)
    .meta(meta(CLIENTS, "Open registrations that one address may make in a window.")),
  REGISTER_CLIENT_RATE_WINDOW: seconds(1, DAY).default(60).meta(meta(CLIENTS, "Seconds of that window.")),
  DEFAULT_CLIENT_ENVIRONMENT: oneOf(["development", "staging", "production"])
    .optional()
    .meta(
      meta(CLIENTS, "Environment of clients that developers create.", { unset: "`development`; with NODE_ENV=production `production`" }),
    ),
  CLIENT_ASSERTION_AUDIENCE: oneOf(["strict", "compat"])
    .default("strict")
    .meta(meta(CLIENTS, "Audience of client assertions: the issuer alone (`strict`), or the token endpoint's URL too (`compat`).")),
  CIMD_ENABLED: flag().default(true).meta(meta(CLIENTS, "Whether an https URL may be a client_id (Client ID Metadata Documents).")),

  ID_JAG_ENABLED: flag()
    .default(false)
    .meta(meta(FEATURES, "Whether identity assertions of other issuers are accepted (jwt-bearer grant).")),
  ID_JAG_TRUSTED_ISSUERS: text(
    (value) => words(value, /[\s,]+/).every(isIssuer),
    "names something that is no issuer identifier",
    "give https URLs without trailing slash, separated by spaces or commas",
  )
    .transform((value) => words(value, /[\s,]+/))
    .default([])
    .meta(meta(FEATURES, "Issuers whose identity assertions are accepted; an empty list rejects every assertion.")),
  ID_JAG_MAX_ASSERTION_LIFETIME: seconds(1, DAY)
    .default(300)
    .meta(meta(FEATURES, "Seconds that an identity assertion may live at most, and that its `jti` is remembered.")),
  HYBRID_SIGNING_ENABLED: flag().default(false).meta(meta(FEATURES, "Whether access tokens are signed with ML-DSA-65 besides Ed25519.")),
  PQC_TOKEN_DELIVERY: oneOf(["reference", "self-contained"])
    .default("reference")
    .meta(meta(FEATURES, "How the ML-DSA-65 signature reaches a verifier: by introspection, or in the token answer too.")),
  PQC_SELF_CONTAINED_ACK: flag()
    .default(false)
    .meta(meta(FEATURES, "Acknowledges the size of `self-contained` delivery, which is refused without it.")),
  WALLET_FEDERATION_ENABLED: flag()
    .default(false)
    .meta(meta(WALLETS, "Whether people may link the credential of a wallet to their account (OpenID4VP 1.0).")),
  WALLET_TRUSTED_ISSUERS: text(
    (value) => words(value, /[\s,]+/).every(isIssuer),
    "names something that is no issuer identifier",
    "give https URLs without trailing slash, separated by spaces or commas",
  )
    .transform((value) => words(value, /[\s,]+/))
    .default([])
    .meta(meta(WALLETS, "Issuers (`iss`) whose credentials are taken; an empty list refuses every credential.")),
  WALLET_CREDENTIAL_TYPES: text(
    (value) => words(value, /[\s,]+/).every((type) => URL.canParse(type)),
    "names something that is no credential type",
    "give the `vct` of each type, an URI, separated by spaces or commas",
  )
    .transform((value) => words(value, /[\s,]+/))
    .default(["urn:eudi:pid:1"])
    .meta(meta(WALLETS, "Credential types (`vct`) that a wallet is asked for; one of them will do.")),
  WALLET_SUBJECT_CLAIM: text(
    (value) => /^[A-Za-z0-9_-]{1,64}$/.test(value) && !NO_SUBJECT.has(value),
    "is no claim that can tell people apart",
    "give the name of one claim that the issuers hold stable, unique and never give again",
  )
    .default("sub")
    .meta(meta(WALLETS, "Claim of the credential that, within its issuer, stands for the person: stable, unique, never given again.")),
  WALLET_ISSUER_ROOTS: tlsCertificate()
    .optional()
    .meta(
      meta(WALLETS, "Authorities (PEM) up to which a credential's own certificate chain (`x5c`) is followed.", {
        unset: "keys come from the issuer's `/.well-known/jwt-vc-issuer` alone",
        file: true,
      }),
    ),
  WALLET_CREDENTIAL_STATUS: oneOf(["strict", "lenient"])
    .default("strict")
    .meta(
      meta(
        WALLETS,
        "A credential whose status list cannot be had: refused (`strict`), or taken (`lenient`). One that the list says is revoked or suspended is always refused.",
      ),
    ),
  WALLET_VERIFIER_CERT: tlsCertificate()
    .optional()
    .meta(
      meta(WALLETS, "Certificate chain (PEM, leaf first, P-256 key) by which wallets know this server; requests are then signed.", {
        unset: "unsigned requests, which name nobody but the address that they answer to",
        file: true,
      }),
    ),
  WALLET_VERIFIER_KEY: p256Private()
    .optional()
    .meta(meta(WALLETS, "Private key (PEM, P-256) of WALLET_VERIFIER_CERT.", { file: true })),
  WALLET_CLIENT_ID_PREFIX: oneOf(["x509_san_dns", "x509_hash"])
    .default("x509_san_dns")
    .meta(
      meta(WALLETS, "How signed requests name this server: by the host that WALLET_VERIFIER_CERT names, or by the certificate's hash."),
    ),

  NODE_ENV: oneOf(["production", "development", "test"])
    .default("development")
    .meta(meta(OPERATION, "`production` refuses what is only good for development: generated keys, a plain-http issuer.")),
  PROVISION_FILE: text(isReadable, "names a file that cannot be read", "give the path of a readable JSON file")
    .optional()
    .meta(meta(OPERATION, "JSON file of realms, users, clients and descriptions of scopes, applied idempotently at every start.")),
  LOG_LEVEL: oneOf(["trace", "debug", "info", "warn", "error", "fatal", "silent"])
    .default("info")
    .meta(meta(OPERATION, "How much is logged, as JSON lines on stdout.")),
  COUNTERSIGN_URL: url(["http", "https"])
    .optional()
    .meta(meta(OPERATION, "The running server that the command line talks to.", { unset: "JWT_ISSUER" })),
  COUNTERSIGN_EMAIL: z
    .string()
    .optional()
    .meta(meta(OPERATION, "Whom the command line signs in.", { unset: "it asks" })),
  COUNTERSIGN_PASSWORD: z
    .string()
    .optional()
    .meta(
      meta(OPERATION, "The password with which the command line signs in; the session ends with the command.", {
        unset: "it asks",
        file: true,
      }),
    ),
});

export type SettingName = keyof typeof SETTINGS.shape;
export type Settings = z.output<typeof SETTINGS>;

export const SETTING_NAMES = Object.keys(SETTINGS.shape) as SettingName[]; // zod keeps the order in which the members are written

export const metaOf = (name: SettingName): SettingMeta => SETTINGS.shape[name].meta() as unknown as SettingMeta; // each has one: see above
