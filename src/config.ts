import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { DEFAULT_NAME } from "./branding/branding.ts";
import { contradictions, type Role } from "./config/contradictions.ts";
import { firstExpiry } from "./config/key-material.ts";
import { DAY, says } from "./config/settings/forms.ts";
import {
  CERTIFICATE_SETTINGS,
  groupOf,
  metaOf,
  SETTING_NAMES,
  SETTINGS,
  type SettingName,
  type Settings,
  shownSettings,
} from "./config/settings.ts";
import { unknownSettings } from "./config/unknown-settings.ts";

export type { Role } from "./config/contradictions.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** Why the server does not start: one line for each fault, with setting, fault and remedy. It never repeats a value. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(faults.join("\n"));
    this.faults = faults;
  }
}

/** The settings of a process, grouped by the part that needs them. Durations are whole seconds; keys are PEM unless noted. */
export type Config = ReturnType<typeof configOf> & {
  readonly shown: ReturnType<typeof shownSettings>;
  readonly withoutEffect: ReturnType<typeof withoutEffect>;
};

/**
 * Reads the settings of a process; an empty value counts as unset.
 * @param role the part of the service that the process runs
 * @throws {ConfigError} with all faults at once @see docs/settings.md
 */
export function loadConfig(env: Environment, role: Role = "all"): Config {
  const entries = Object.entries(env).flatMap(([name, value]) =>
    value === undefined || value.trim() === "" ? [] : [[name, trimmed(name, value)] as const],
  );
  const faults = unknownSettings(entries.map(([name]) => name)).map(
    ({ name, meant }) => `${printable(name)}: Unknown setting; ${meant === undefined ? "remove it." : `did you mean ${meant}?`}`,
  );
  const texts = new Map(entries);
  const values: Record<string, unknown> = {};
  const faulty = new Set<string>();
  for (const name of SETTING_NAMES) {
    const read = readSetting(name, texts.get(name));
    if ("fault" in read) {
      faulty.add(name);
      faults.push(`${name}: ${read.fault}.`);
    } else values[name] = read.value;
  }
  const settings = values as Partial<Settings>; // each member is the output of its own part of the schema
  for (const { setting, fault } of contradictions(settings, faulty, role)) faults.push(`${setting}: ${fault}.`);
  if (faults.length > 0) throw new ConfigError(faults);
  return freeze({ ...configOf(settings as Settings), shown: shownSettings(texts), withoutEffect: withoutEffect(values) }); // no fault: every member is there
}

/** A value without white space at its ends. A password may begin and end with spaces, so only a byte order mark and the end of its line go. */
const trimmed = (name: string, value: string): string =>
  name === ("COUNTERSIGN_PASSWORD" satisfies SettingName) ? value.replace(/^\ufeff|\r?\n$/g, "") : value.trim();

function readSetting(name: SettingName, value: string | undefined): { value: unknown } | { fault: string } {
  let text = value;
  if (metaOf(name).file && value?.startsWith("@")) {
    try {
      text = trimmed(name, readFileSync(value.slice(1), "utf8"));
    } catch {
      return { fault: says("names a file that cannot be read", "give @ and the path of a readable file") };
    }
    if (text === "") return { fault: says("names an empty file", "fill it, or remove the setting") };
  }
  const parsed = SETTINGS.shape[name].safeParse(text);
  return parsed.success
    ? { value: parsed.data }
    : { fault: parsed.error.issues[0]?.message ?? says("is malformed", "see docs/settings.md") };
}

/** Settings with another value than their default that have no effect, each with the setting that it needs, which has its default. */
function withoutEffect(values: Readonly<Record<string, unknown>>) {
  const isDefault = (name: SettingName) => isDeepStrictEqual(values[name], SETTINGS.shape[name].parse(undefined));
  return SETTING_NAMES.flatMap((setting) => {
    const needed = metaOf(setting).needs as SettingName | undefined;
    return needed !== undefined && isDefault(needed) && !isDefault(setting) ? [{ setting, needed }] : [];
  });
}

function configOf(s: Settings) {
  const issuer = s.JWT_ISSUER ?? `http://localhost:${s.PORT}`;
  return {
    environment: s.NODE_ENV,
    host: s.HOST,
    port: s.PORT,
    grpc: groupOf(s, "GRPC"),
    issuer,
    ...storageConfig(s),
    keys: {
      privateKeyPem: s.JWT_PRIVATE_KEY,
      previousPrivateKeyPem: s.JWT_PREVIOUS_PRIVATE_KEY,
      retiredPublicKeysPem: s.JWT_RETIRED_PUBLIC_KEYS,
      rsaPrivateKeyPem: s.JWT_RSA_PRIVATE_KEY,
      /** PKCS#8 PEM, or the text of a JWK. */
      mldsaPrivateKey: s.JWT_MLDSA_PRIVATE_KEY,
      idTokenSigningAlg: s.ID_TOKEN_SIGNING_ALG,
      /** Base64 of 32 bytes. */
      vaultKey: s.VAULT_KEY,
      /** Likewise; they open secrets and seal none. */
      vaultKeysPrevious: s.VAULT_KEY_PREVIOUS,
    },
    tokenCore: groupOf(s, "TOKEN_CORE"),
    mail: { smtpUrl: s.SMTP_URL, from: s.MAIL_FROM ?? mailFrom(s.BRAND_NAME ?? DEFAULT_NAME, issuer) },
    branding: groupOf(s, "BRAND"),
    lifetimes: {
      accessToken: s.ACCESS_TOKEN_TTL,
      idToken: s.ID_TOKEN_TTL,
      refreshToken: s.REFRESH_TOKEN_TTL,
      refreshFamilyMax: 90 * DAY,
      refreshReuseGrace: s.REFRESH_TOKEN_REUSE_GRACE,
      authorizationCode: s.AUTHORIZATION_CODE_TTL,
      session: s.SESSION_TTL,
    },
    signUp: {
      policy: { mode: s.SIGN_UP, domains: s.SIGN_UP_DOMAINS as readonly string[], developers: s.DEVELOPERS },
      // Elsewhere, tests make users of their own from one address.
      rate: { points: s.SIGN_UP_RATE_LIMIT ?? (s.NODE_ENV === "production" ? 10 : 1000), seconds: s.SIGN_UP_RATE_WINDOW },
    },
    registration: {
      scopes: s.DEFAULT_DYNAMIC_REGISTRATION_SCOPES as readonly string[],
      rate: { points: s.REGISTER_CLIENT_RATE_LIMIT, seconds: s.REGISTER_CLIENT_RATE_WINDOW },
      dynamicClientScope: s.DYNAMIC_CLIENT_SCOPE,
    },
    ...requestConfig(s),
    defaultClientEnvironment: s.DEFAULT_CLIENT_ENVIRONMENT ?? (s.NODE_ENV === "production" ? "production" : "development"),
    idJag: groupOf(s, "ID_JAG"),
    pqc: { hybrid: s.HYBRID_SIGNING_ENABLED, delivery: s.PQC_TOKEN_DELIVERY },
    wallet: groupOf(s, "WALLET"),
    provisionFile: s.PROVISION_FILE,
    trustProxy: s.TRUST_PROXY,
    certificates: certificatesOf(s),
    otlp: otlpConfig(s),
    ...auditTrailOf(s),
    logLevel: s.LOG_LEVEL,
    /** Base URL of the server that the command line uses. */
    serverUrl: s.COUNTERSIGN_URL ?? issuer,
    /** Credentials of the command line; without them it asks. */
    signIn: { email: s.COUNTERSIGN_EMAIL, password: s.COUNTERSIGN_PASSWORD },
  } as const;
}

/** The settings that hold certificates, and when the first of each expires, in seconds since the epoch. */
const certificatesOf = (s: Settings) =>
  CERTIFICATE_SETTINGS.flatMap((setting) => {
    const pem = s[setting];
    return pem === undefined ? [] : [{ setting, expiresAt: firstExpiry(pem) }];
  });

const otlpConfig = (s: Settings) => ({
  endpoint: s.OTEL_EXPORTER_OTLP_ENDPOINT,
  headers: s.OTEL_EXPORTER_OTLP_HEADERS ?? {},
  attributes: { ...s.OTEL_RESOURCE_ATTRIBUTES, ...(s.OTEL_SERVICE_NAME !== undefined && { "service.name": s.OTEL_SERVICE_NAME }) },
  traces: s.OTEL_TRACES_EXPORTER === "otlp",
  ratio: s.OTEL_TRACES_SAMPLER_ARG,
  metrics: s.OTEL_METRICS_EXPORTER === "otlp",
  metricsEvery: s.OTEL_METRIC_EXPORT_INTERVAL,
});

/** What the driver does with these modes of libpq anyway, and otherwise warns about: it verifies the server's certificate and name. */
const VERIFIED = /(?<=[?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/;

const verifyingUrl = (url: string): string => (url.includes("uselibpqcompat=true") ? url : url.replace(VERIFIED, "verify-full"));

const storageConfig = (s: Settings) => ({
  databaseUrl: s.DATABASE_URL && verifyingUrl(s.DATABASE_URL),
  databasePool: {
    /** Connections of one process. */
    size: Math.floor((s.DATABASE_CONNECTIONS ?? 8 * s.WORKERS) / s.WORKERS),
    pooler: s.DATABASE_POOLER,
  },
  workers: s.WORKERS,
  redisUrl: s.REDIS_URL,
  dataDir: s.DATA_DIR,
  migrateOnStart: s.MIGRATE_ON_START,
});

const auditTrailOf = (s: Settings) => ({
  auditStream: { url: s.AUDIT_STREAM, secret: s.AUDIT_STREAM_SECRET },
  auditRetention: { days: s.AUDIT_KEEP_DAYS, folder: s.AUDIT_ARCHIVE },
});

const requestConfig = (s: Settings) => ({
  requireKnownResources: s.REQUIRE_KNOWN_RESOURCES,
  requirePushedRequests: s.REQUIRE_PAR,
  dpopNonce: s.DPOP_NONCE,
  clientAssertionAudience: s.CLIENT_ASSERTION_AUDIENCE,
  cimdEnabled: s.CIMD_ENABLED,
});

/** The address of the service with its name, quoted where it is more than one word (RFC 5322 §3.4). */
const mailFrom = (name: string, issuer: string): string => {
  const shown = /^[A-Za-z0-9]+$/.test(name) ? name : `"${name.replace(/["\\]/g, "")}"`;
  return `${shown} <no-reply@${new URL(issuer).hostname}>`;
};

const printable = (name: string) => name.replace(/[^\w.-]/g, "?").slice(0, 80);

function freeze<T extends object>(tree: T): T {
  for (const branch of Object.values(tree)) if (typeof branch === "object" && branch !== null) freeze(branch);
  return Object.freeze(tree);
}
