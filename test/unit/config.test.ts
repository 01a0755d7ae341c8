import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { CERTIFICATE_SETTINGS, metaOf, SETTING_NAMES, SETTINGS, type SettingName } from "../../src/config/settings.ts";
import { editsBetween } from "../../src/config/unknown-settings.ts";
import { ConfigError, type Environment, loadConfig, type Role } from "../../src/config.ts";
import { privateCa } from "../support/private-ca.ts";

const directory = mkdtempSync(join(tmpdir(), "config-"));
afterAll(() => rmSync(directory, { recursive: true }));
const file = (name: string, content: string) => {
  const path = join(directory, name);
  writeFileSync(path, content, { mode: 0o600 });
  return path;
};

const pair = (type: "ed25519" | "ml-dsa-65") => {
  const { privateKey, publicKey } = type === "ed25519" ? generateKeyPairSync("ed25519") : generateKeyPairSync("ml-dsa-65");
  return {
    key: privateKey,
    private: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    public: publicKey.export({ type: "spki", format: "pem" }).toString(),
  };
};
const rsa = (modulusLength: number) =>
  generateKeyPairSync("rsa", { modulusLength }).privateKey.export({ type: "pkcs8", format: "pem" }).toString();
const ed = pair("ed25519");
const other = pair("ed25519");
const mldsa = pair("ml-dsa-65");
const VERIFIER = "https://id.example.test";
const [verifier, stranger] = [privateCa().serverFor("id.example.test"), privateCa().serverFor("id.example.test")];
const PRODUCTION = { NODE_ENV: "production", JWT_PRIVATE_KEY: ed.private };

const faultsOf = (env: Environment, role?: Role): readonly string[] => {
  try {
    loadConfig(env, role);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
};

describe("configuration defaults", () => {
  test("settings without effect are named with the one that they need, unless they have their default value", () => {
    const given = (env: Environment) => loadConfig(env).withoutEffect;
    const issuers = { ID_JAG_TRUSTED_ISSUERS: "https://idp.example.com", ID_JAG_MAX_ASSERTION_LIFETIME: "300", WALLET_TRUSTED_ISSUERS: "" };
    expect(given(issuers)).toEqual([{ setting: "ID_JAG_TRUSTED_ISSUERS", needed: "ID_JAG_ENABLED" }]);
    expect(given({ ...issuers, ID_JAG_ENABLED: "true" })).toEqual([]);
    const rsaKey = { JWT_RSA_PRIVATE_KEY: rsa(2048) };
    expect(given(rsaKey)).toEqual([{ setting: "JWT_RSA_PRIVATE_KEY", needed: "ID_TOKEN_SIGNING_ALG" }]);
    expect(given({ ...rsaKey, ID_TOKEN_SIGNING_ALG: "RS256" })).toEqual([]);
    expect(given({ AUDIT_ARCHIVE: "/archive", WALLET_CREDENTIAL_STATUS: "lenient", DATABASE_CONNECTIONS: "8" })).toEqual([
      { setting: "DATABASE_CONNECTIONS", needed: "DATABASE_URL" },
      { setting: "WALLET_CREDENTIAL_STATUS", needed: "WALLET_FEDERATION_ENABLED" },
      { setting: "AUDIT_ARCHIVE", needed: "AUDIT_KEEP_DAYS" },
    ]);
    const needed = SETTING_NAMES.flatMap((name) => metaOf(name).needs ?? []);
    expect(needed.filter((name) => !(name in SETTINGS.shape))).toEqual([]);
  });

  test("the password of the command line keeps its spaces, in the environment and in a file, without the end of the line", () => {
    const passwordOf = (text: string) => loadConfig({ COUNTERSIGN_PASSWORD: text }).signIn.password;
    const kept = file("password", " open sesame \n");
    expect([passwordOf(" open sesame "), passwordOf(`@${kept}`), passwordOf(" ")]).toEqual([" open sesame ", " open sesame ", undefined]);
    expect(passwordOf(`@${file("marked", "\ufeff open sesame \r\n")}`)).toBe(" open sesame ");
  });

  test("the URL of the command line has no credentials, which messages would repeat, and no query", () => {
    const given = (value: string) => () => loadConfig({ COUNTERSIGN_URL: value }, "command");
    expect(given("https://ada:secret@id.example.test")).toThrow("has a user name or password");
    for (const end of ["?a=b", "#a"]) expect(given(`https://id.example.test/${end}`)).toThrow("has a query or fragment");
    expect(given("https://id.example.test/tenant/")().serverUrl).toBe("https://id.example.test/tenant/");
  });

  test("an empty environment is a complete configuration for development", () => {
    const config = loadConfig({});
    expect(config).toMatchObject({
      environment: "development",
      host: "localhost",
      port: 3000,
      grpc: { host: "127.0.0.1", port: 3001, trustProxy: false },
      issuer: "http://localhost:3000",
      databaseUrl: undefined,
      dataDir: "./data",
      migrateOnStart: true,
      lifetimes: {
        accessToken: 900,
        idToken: 900,
        refreshToken: 2_592_000,
        refreshFamilyMax: 7_776_000,
        refreshReuseGrace: 0,
        authorizationCode: 60,
        session: 28_800,
      },
      registration: {
        scopes: ["openid", "profile", "email", "offline_access"],
        rate: { points: 30, seconds: 60 },
        dynamicClientScope: "registered",
      },
      defaultClientEnvironment: "development",
      clientAssertionAudience: "strict",
      cimdEnabled: true,
      idJag: { enabled: false, trustedIssuers: [], maxAssertionLifetime: 300 },
      pqc: { hybrid: false, delivery: "reference" },
      wallet: {
        federationEnabled: false,
        trustedIssuers: [],
        credentialTypes: ["urn:eudi:pid:1"],
        subjectClaim: "sub",
        credentialStatus: "strict",
        clientIdPrefix: "x509_san_dns",
      },
      trustProxy: false,
      logLevel: "info",
      serverUrl: "http://localhost:3000",
    });
  });

  test("a configuration is frozen", () => {
    const config = loadConfig({});
    expect([config, config.grpc, config.registration.scopes].every(Object.isFrozen)).toBe(true);
  });

  test("the issuer follows PORT, and MAIL_FROM follows the issuer", () => {
    expect(loadConfig({ PORT: "8080" }).issuer).toBe("http://localhost:8080");
    expect(loadConfig({ JWT_ISSUER: "https://id.example.test" }).mail.from).toBe("Countersign <no-reply@id.example.test>");
  });

  test("the default client environment is production in production", () => {
    expect(loadConfig(PRODUCTION).defaultClientEnvironment).toBe("production");
    expect(loadConfig({ ...PRODUCTION, DEFAULT_CLIENT_ENVIRONMENT: "staging" }).defaultClientEnvironment).toBe("staging");
  });

  test("an address may sign up 10 times an hour in production, and 1000 times elsewhere", () => {
    expect(loadConfig(PRODUCTION).signUp.rate).toEqual({ points: 10, seconds: 3600 });
    expect(loadConfig({}).signUp.rate).toEqual({ points: 1000, seconds: 3600 });
    expect(loadConfig({ SIGN_UP_RATE_LIMIT: "3" }).signUp.rate.points).toBe(3);
  });

  test("an empty value is treated as unset", () => {
    expect(loadConfig({ PORT: "", JWT_ISSUER: " ", SMTP_URL: "" }).issuer).toBe("http://localhost:3000");
  });

  test("usual variables of shells, libraries and orchestrators are not reported as unknown settings", () => {
    const shell = [
      "HOME",
      "HOSTNAME",
      "HOSTTYPE",
      "PATH",
      "PWD",
      "MAIL",
      "NODE_PATH",
      "NODE_OPTIONS",
      "SHELL",
      "TERM",
      "USER",
      "XDG_DATA_DIRS",
    ];
    const library = ["GRPC_VERBOSITY", "GRPC_TRACE", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", "grpc_proxy"];
    const orchestrator = [
      "COUNTERSIGN_SERVICE_HOST",
      "COUNTERSIGN_PORT",
      "COUNTERSIGN_PORT_80_TCP",
      "TOKEN_CORE_SERVICE_PORT_GRPC",
      "TOKEN_CORE_PORT_3001_TCP_ADDR",
    ];
    const tests = ["TEST_DATABASE_URL", "TEST_REDIS_URL"];
    const env = Object.fromEntries([...shell, ...library, ...orchestrator, ...tests].map((name) => [name, "x"]));
    expect(faultsOf(env)).toEqual([]);
  });

  test("a port of no service is reported as an unknown setting", () => {
    expect(faultsOf({ COUNTERSIGN_PORT: "3000" })).toEqual([expect.stringMatching(/^COUNTERSIGN_PORT: Unknown setting;/)]);
  });
});

describe("configuration values", () => {
  test("keys are accepted as PEM, with escaped line ends, and from a file", () => {
    for (const value of [ed.private, ed.private.replaceAll("\n", "\\n"), `@${file("ed.pem", ed.private)}`]) {
      const { keys } = loadConfig({ JWT_PRIVATE_KEY: value });
      expect(keys.privateKeyPem?.trim()).toBe(ed.private.trim());
    }
  });

  test("an ML-DSA-65 key is accepted as PKCS#8 and as JWK", () => {
    for (const value of [mldsa.private, JSON.stringify(mldsa.key.export({ format: "jwk" }))])
      expect(loadConfig({ JWT_MLDSA_PRIVATE_KEY: value }).keys.mldsaPrivateKey).toBe(value.trim());
  });

  test("retired public keys are accepted as a bundle of several kinds", () => {
    const bundle = `${other.public}${mldsa.public}`;
    expect(loadConfig({ JWT_RETIRED_PUBLIC_KEYS: bundle }).keys.retiredPublicKeysPem).toBe(bundle.trim());
  });

  test("every setting that takes certificates says when the first of them expires", () => {
    const days = (count: number) => Math.floor(Date.now() / 1000) + count * 86_400;
    const [soon, later] = [privateCa(3).certificatePem, privateCa(40).certificatePem];
    const takes = (name: SettingName, value: string) => SETTINGS.shape[name].safeParse(value).success;
    const named = SETTING_NAMES.filter((name) => metaOf(name).file && takes(name, later) && !takes(name, "not a certificate"));
    expect(named).toContain("GRPC_TLS_CERT");
    expect(CERTIFICATE_SETTINGS.toSorted()).toEqual(named.toSorted());
    const { certificates } = loadConfig({ TOKEN_CORE_CA: later, WALLET_ISSUER_ROOTS: `${later}${soon}` });
    expect(certificates).toEqual([
      { setting: "TOKEN_CORE_CA", expiresAt: expect.closeTo(days(40), -2) },
      { setting: "WALLET_ISSUER_ROOTS", expiresAt: expect.closeTo(days(3), -2) },
    ]);
  });

  test("TLS to PostgreSQL always verifies the certificate, unless the URL says how libpq would do it", () => {
    const read = (query: string) => loadConfig({ DATABASE_URL: `postgres://db.example.test/x?${query}` }).databaseUrl?.split("?")[1];
    expect(["sslmode=require", "a=b&sslmode=prefer&c=d", "sslmode=verify-ca", "sslmode=disable", "a=sslmode=require"].map(read)).toEqual([
      "sslmode=verify-full",
      "a=b&sslmode=verify-full&c=d",
      "sslmode=verify-full",
      "sslmode=disable",
      "a=sslmode=require",
    ]);
    expect(read("uselibpqcompat=true&sslmode=require")).toBe("uselibpqcompat=true&sslmode=require");
  });

  test("a URL of PostgreSQL may have its host, or the folder of its socket, as a parameter", () => {
    const DATABASE_URL = "postgres:///countersign?host=/var/run/postgresql&user=countersign";
    expect(loadConfig({ DATABASE_URL }).databaseUrl).toBe(DATABASE_URL);
    expect(() => loadConfig({ DATABASE_URL: "postgres:///countersign" })).toThrow("DATABASE_URL: is not a URL of the form");
    expect(() => loadConfig({ REDIS_URL: "redis:///1?host=cache" })).toThrow("REDIS_URL: is not a URL of the form");
  });

  test("a URL of Redis may name the number of a database, and any scheme in capitals is the same scheme", () => {
    const read = (REDIS_URL: string) => loadConfig({ REDIS_URL }).redisUrl;
    for (const url of ["redis://cache", "redis://cache/", "redis://u:p%25%40@cache:6380/15", "rediss://[::1]:1/0?family=6"])
      expect(read(url)).toBe(url);
    expect(read("REDISS://u:p@Cache")).toBe("rediss://u:p@Cache");
    for (const path of ["/countersign", "/1/2", "/-1", "/1.5"])
      expect(() => read(`redis://cache${path}`)).toThrow("REDIS_URL: has a path that is not the number of a database;");
    for (const user of ["canary%zz:p", "u:canary%", "canary%:41", "canary%C3:%A9"]) {
      expect(() => read(`redis://${user}@cache`)).toThrow("REDIS_URL: has a user name or password with a lone %;");
      expect(() => read(`redis://${user}@cache`)).not.toThrow("canary");
    }
  });

  test("lists are deduplicated", () => {
    const config = loadConfig({
      DEFAULT_DYNAMIC_REGISTRATION_SCOPES: "openid  openid crm:read",
      ID_JAG_TRUSTED_ISSUERS: "https://a.example.test, https://b.example.test/x https://a.example.test",
    });
    expect(config.registration.scopes).toEqual(["openid", "crm:read"]);
    expect(config.idJag.trustedIssuers).toEqual(["https://a.example.test", "https://b.example.test/x"]);
  });

  test("a secret is read from a file", () => {
    expect(loadConfig({ TOKEN_CORE_SECRET: `@${file("secret", "from-a-file\n")}` }).tokenCore.secret).toBe("from-a-file");
  });

  test.for([
    "https://id.example.test",
    "https://id.example.test:8443",
    "https://id.example.test/tenant",
    "http://127.0.0.1:3000",
    "http://[::1]:3000",
  ])("%s is accepted as issuer", (issuer) => {
    expect(loadConfig({ JWT_ISSUER: issuer }).issuer).toBe(issuer);
  });
});

describe("invalid settings", () => {
  const cases: [name: string, env: Environment][] = [
    ["HOST", { HOST: "http://localhost" }],
    ["HOST", { HOST: "a..b" }],
    ["PORT", { PORT: "65536" }],
    ["PORT", { PORT: "-1" }],
    ["PORT", { PORT: "0x10" }],
    ["GRPC_PORT", { GRPC_PORT: "3001a" }],
    ["JWT_ISSUER", { JWT_ISSUER: "id.example.test" }],
    ["JWT_ISSUER", { JWT_ISSUER: "https://id.example.test/" }],
    ["JWT_ISSUER", { JWT_ISSUER: "https://id.example.test/a/" }],
    ["JWT_ISSUER", { JWT_ISSUER: "https://id.example.test?a" }],
    ["JWT_ISSUER", { JWT_ISSUER: "https://id.example.test#" }],
    ["JWT_ISSUER", { JWT_ISSUER: "https://ID.example.test" }],
    ["JWT_ISSUER", { JWT_ISSUER: "https://id.example.test:443" }],
    ["JWT_ISSUER", { JWT_ISSUER: "https://u:p@id.example.test" }],
    ["JWT_ISSUER", { JWT_ISSUER: "ftp://id.example.test" }],
    ["DATABASE_URL", { DATABASE_URL: "mysql://db/x" }],
    ["REDIS_URL", { REDIS_URL: "http://cache" }],
    ["SMTP_URL", { SMTP_URL: "mail.example.test" }],
    ["MAIL_FROM", { MAIL_FROM: "unknown" }],
    ["MAIL_FROM", { MAIL_FROM: "A <a@b.test>\r\nBcc: c@d.test" }],
    ["MIGRATE_ON_START", { MIGRATE_ON_START: "perhaps" }],
    ["TRUST_PROXY", { TRUST_PROXY: "2" }],
    ["ID_TOKEN_SIGNING_ALG", { ID_TOKEN_SIGNING_ALG: "HS256" }],
    ["LOG_LEVEL", { LOG_LEVEL: "loud" }],
    ["NODE_ENV", { NODE_ENV: "staging" }],
    ["DEFAULT_CLIENT_ENVIRONMENT", { DEFAULT_CLIENT_ENVIRONMENT: "test" }],
    ["DYNAMIC_CLIENT_SCOPE", { DYNAMIC_CLIENT_SCOPE: "all" }],
    ["CLIENT_ASSERTION_AUDIENCE", { CLIENT_ASSERTION_AUDIENCE: "lax" }],
    ["PQC_TOKEN_DELIVERY", { PQC_TOKEN_DELIVERY: "both" }],
    ["ACCESS_TOKEN_TTL", { ACCESS_TOKEN_TTL: "15m" }],
    ["ACCESS_TOKEN_TTL", { ACCESS_TOKEN_TTL: "0" }],
    ["AUTHORIZATION_CODE_TTL", { AUTHORIZATION_CODE_TTL: "601" }],
    ["REFRESH_TOKEN_TTL", { REFRESH_TOKEN_TTL: "7776001" }],
    ["REGISTER_CLIENT_RATE_LIMIT", { REGISTER_CLIENT_RATE_LIMIT: "0" }],
    ["DEFAULT_DYNAMIC_REGISTRATION_SCOPES", { DEFAULT_DYNAMIC_REGISTRATION_SCOPES: 'openid "x"' }],
    ["DEFAULT_DYNAMIC_REGISTRATION_SCOPES", { DEFAULT_DYNAMIC_REGISTRATION_SCOPES: "openid\tprofile" }],
    ["ID_JAG_TRUSTED_ISSUERS", { ID_JAG_TRUSTED_ISSUERS: "https://a.example.test/?b" }],
    ["SIGN_UP_DOMAINS", { SIGN_UP: "domains", SIGN_UP_DOMAINS: "example.com not/one" }],
    ["WALLET_TRUSTED_ISSUERS", { WALLET_TRUSTED_ISSUERS: "https://A.example.test" }],
    ["WALLET_CREDENTIAL_TYPES", { WALLET_CREDENTIAL_TYPES: "urn:a:1 pid" }],
    ["WALLET_SUBJECT_CLAIM", { WALLET_SUBJECT_CLAIM: "cnf" }],
    ["WALLET_SUBJECT_CLAIM", { WALLET_SUBJECT_CLAIM: "a.b" }],
    ["WALLET_ISSUER_ROOTS", { WALLET_ISSUER_ROOTS: "rubbish" }],
    ["WALLET_CREDENTIAL_STATUS", { WALLET_CREDENTIAL_STATUS: "lax" }],
    ["WALLET_VERIFIER_KEY", { WALLET_VERIFIER_CERT: verifier.cert, WALLET_CLIENT_ID_PREFIX: "x509_hash", WALLET_VERIFIER_KEY: ed.private }],
    ["PROVISION_FILE", { PROVISION_FILE: join(directory, "absent.json") }],
    ["JWT_PRIVATE_KEY", { JWT_PRIVATE_KEY: "secret" }],
    ["JWT_PRIVATE_KEY", { JWT_PRIVATE_KEY: ed.public }],
    ["JWT_PRIVATE_KEY", { JWT_PRIVATE_KEY: rsa(2048) }],
    ["JWT_PRIVATE_KEY", { JWT_PRIVATE_KEY: `@${join(directory, "absent.pem")}` }],
    ["JWT_PRIVATE_KEY", { JWT_PRIVATE_KEY: `@${file("empty.pem", " \n")}` }],
    ["JWT_PUBLIC_KEY", { JWT_PRIVATE_KEY: ed.private, JWT_PUBLIC_KEY: ed.private }],
    ["JWT_RSA_PRIVATE_KEY", { JWT_RSA_PRIVATE_KEY: rsa(1024) }],
    ["JWT_MLDSA_PRIVATE_KEY", { JWT_MLDSA_PRIVATE_KEY: ed.private }],
    ["JWT_MLDSA_PRIVATE_KEY", { JWT_MLDSA_PRIVATE_KEY: "{" }],
    ["JWT_MLDSA_PRIVATE_KEY", { JWT_MLDSA_PRIVATE_KEY: mldsa.public }],
    ["JWT_MLDSA_PRIVATE_KEY", { JWT_MLDSA_PRIVATE_KEY: JSON.stringify(createPublicKey(mldsa.public).export({ format: "jwk" })) }],
    ["JWT_PREVIOUS_PRIVATE_KEY", { JWT_PRIVATE_KEY: ed.private, JWT_PREVIOUS_PRIVATE_KEY: other.public }],
    ["JWT_RETIRED_PUBLIC_KEYS", { JWT_RETIRED_PUBLIC_KEYS: `${ed.public}${other.private}` }],
    ["JWT_RETIRED_PUBLIC_KEYS", { JWT_RETIRED_PUBLIC_KEYS: `${ed.public}rubbish` }],
    ["GRPC_TLS_CERT", { GRPC_TLS_CERT: ed.public, GRPC_TLS_KEY: ed.private }],
    ["TOKEN_CORE_SECRET", { TOKEN_CORE_SECRET: "sécret" }],
    ["TOKEN_CORE_SECRET", { TOKEN_CORE_SECRET: `@${file("two-lines", "one\ntwo\n")}` }],
    ["TOKEN_CORE_SECRET_PREVIOUS", { TOKEN_CORE_SECRET: "new", TOKEN_CORE_SECRET_PREVIOUS: "ключ" }],
    ["AUDIT_STREAM_SECRET", { AUDIT_STREAM: "https://siem.example.test", AUDIT_STREAM_SECRET: `whsec_${"-".repeat(32)}` }],
    ["AUDIT_STREAM_SECRET", { AUDIT_STREAM: "https://siem.example.test", AUDIT_STREAM_SECRET: "whsec_c2hvcnQgc2hvcnQ=" }],
    ["AUDIT_STREAM_SECRET", { AUDIT_STREAM: "otlp+https://siem.example.test", AUDIT_STREAM_SECRET: "é".repeat(16) }],
  ];
  test.for(cases)("%s is reported for %j", ([name, env]) => {
    const faults = faultsOf(env);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(new RegExp(`^${name}: (is|names|contains) [^;]+; [^\\n]+\\.$`)); // setting, fault, remedy
  });
});

test.for([
  ["JWT_PRIVATE_KEY", "keys generate"],
  ["JWT_RSA_PRIVATE_KEY", "keys generate --rsa"],
  ["JWT_MLDSA_PRIVATE_KEY", "keys generate --ml-dsa"],
] as const)("an invalid %s is answered with the command that makes one", ([name, command]) => {
  expect(faultsOf({ [name]: "rubbish" })).toEqual([expect.stringContaining(`\`countersign ${command}\``)]);
});

describe("contradicting settings", () => {
  const DATABASE_URL = "postgres://db.example.test/countersign";
  const cases: [name: string, env: Environment, role?: Role][] = [
    ["JWT_ISSUER", { ...PRODUCTION, JWT_ISSUER: "http://id.example.test" }],
    ["JWT_ISSUER", { PORT: "0" }],
    ["JWT_PRIVATE_KEY", { NODE_ENV: "production" }],
    ["JWT_PRIVATE_KEY", { DATABASE_URL, NODE_ENV: "production", TOKEN_CORE_SECRET: "s".repeat(32) }, "core"],
    ["JWT_PUBLIC_KEY", { JWT_PUBLIC_KEY: ed.public }],
    ["JWT_PUBLIC_KEY", { JWT_PRIVATE_KEY: ed.private, JWT_PUBLIC_KEY: other.public }],
    ["JWT_PREVIOUS_PRIVATE_KEY", { JWT_PREVIOUS_PRIVATE_KEY: other.private }],
    ["JWT_RSA_PRIVATE_KEY", { ...PRODUCTION, ID_TOKEN_SIGNING_ALG: "RS256" }],
    ["JWT_MLDSA_PRIVATE_KEY", { ...PRODUCTION, HYBRID_SIGNING_ENABLED: "true" }],
    ["PQC_TOKEN_DELIVERY", { PQC_TOKEN_DELIVERY: "self-contained" }],
    ["TOKEN_CORE_SECRET", { DATABASE_URL, GRPC_HOST: "0.0.0.0" }, "core"],
    ["TOKEN_CORE_SECRET", { ...PRODUCTION, DATABASE_URL }, "core"],
    ["TOKEN_CORE_SECRET", { ...PRODUCTION, DATABASE_URL, GRPC_HOST: "127.0.0.1" }, "core"],
    ["TOKEN_CORE_SECRET", { ...PRODUCTION, DATABASE_URL, GRPC_HOST: "0.0.0.0" }, "core"],
    ["TOKEN_CORE_SECRET", { ...PRODUCTION, TOKEN_CORE_SECRET: "short" }],
    ["TOKEN_CORE_SECRET_PREVIOUS", { ...PRODUCTION, TOKEN_CORE_SECRET: "s".repeat(32), TOKEN_CORE_SECRET_PREVIOUS: "short" }],
    ["TOKEN_CORE_SECRET_PREVIOUS", { TOKEN_CORE_SECRET_PREVIOUS: "alone" }],
    ["TOKEN_CORE_URL", { DATABASE_URL }, "front"],
    ["GRPC_PORT", { PORT: "3001" }],
    ["DATABASE_URL", {}, "core"],
    ["DATABASE_URL", { TOKEN_CORE_URL: "http://127.0.0.1:3001" }, "front"],
    ["TOKEN_CORE_URL", { TOKEN_CORE_URL: "http://core:3001" }, "all"],
    ["GRPC_TLS_KEY", { GRPC_TLS_KEY: ed.private }],
    ["WALLET_TRUSTED_ISSUERS", { WALLET_TRUSTED_ISSUERS: "http://localhost:4000" }],
    ["AUDIT_ARCHIVE", { AUDIT_KEEP_DAYS: "365" }],
    ["SIGN_UP_DOMAINS", { SIGN_UP: "domains" }],
    ["SIGN_UP_DOMAINS", { SIGN_UP: "invited", SIGN_UP_DOMAINS: "example.com" }],
    ["WALLET_VERIFIER_CERT", { JWT_ISSUER: VERIFIER, WALLET_VERIFIER_CERT: verifier.cert }],
    ["WALLET_VERIFIER_KEY", { WALLET_VERIFIER_KEY: verifier.key }],
    ["WALLET_VERIFIER_KEY", { JWT_ISSUER: VERIFIER, WALLET_VERIFIER_CERT: verifier.cert, WALLET_VERIFIER_KEY: stranger.key }],
    ["WALLET_VERIFIER_CERT", { WALLET_VERIFIER_CERT: verifier.cert, WALLET_VERIFIER_KEY: verifier.key }],
    ["TOKEN_CORE_TLS_KEY", { TOKEN_CORE_TLS_KEY: ed.private }],
    ["ID_JAG_TRUSTED_ISSUERS", { JWT_ISSUER: "https://a.example.test", ID_JAG_TRUSTED_ISSUERS: "https://a.example.test" }],
    ["ID_JAG_TRUSTED_ISSUERS", { ID_JAG_TRUSTED_ISSUERS: "http://a.example.test" }],
    ["ID_JAG_TRUSTED_ISSUERS", { ...PRODUCTION, ID_JAG_TRUSTED_ISSUERS: "http://localhost:4000" }],
  ];
  test.for(cases)("%s is reported for %j in the role %s", ([name, env, role]) => {
    const faults = faultsOf(env, role);
    expect(faults).toHaveLength(1);
    expect(faults[0]?.startsWith(`${name}: `)).toBe(true);
  });

  const agreements: [what: string, env: Environment, role?: Role][] = [
    ["production on a loopback host", { ...PRODUCTION, JWT_ISSUER: "http://127.0.0.1:3000" }],
    ["production on https", { ...PRODUCTION, JWT_ISSUER: "https://id.example.test", JWT_PUBLIC_KEY: ed.public }],
    ["a front in production without keys", { DATABASE_URL, NODE_ENV: "production", TOKEN_CORE_URL: "http://core:3001" }, "front"],
    ["a command in production without keys", { NODE_ENV: "production" }, "command"],
    ["a command with the previous secret of cores alone", { TOKEN_CORE_SECRET_PREVIOUS: "s".repeat(32) }, "command"],
    ["a command with a webhook for the audit trail without its secret", { AUDIT_STREAM: "https://siem.example.test" }, "command"],
    ["a core on loopback without secret", { DATABASE_URL }, "core"],
    ["a core on loopback in production with secret", { ...PRODUCTION, DATABASE_URL, TOKEN_CORE_SECRET: "s".repeat(32) }, "core"],
    ["one process in production without secret", PRODUCTION],
    ["a core of a test without a database of its own", { NODE_ENV: "test" }, "core"],
    ["a core beyond loopback with secret", { DATABASE_URL, GRPC_HOST: "0.0.0.0", TOKEN_CORE_SECRET: "s" }, "core"],
    [
      "a verifier that is named in its certificate",
      { JWT_ISSUER: VERIFIER, WALLET_VERIFIER_CERT: verifier.cert, WALLET_VERIFIER_KEY: verifier.key },
    ],
    [
      "a verifier by its certificate's hash",
      { WALLET_CLIENT_ID_PREFIX: "x509_hash", WALLET_VERIFIER_CERT: verifier.cert, WALLET_VERIFIER_KEY: verifier.key },
    ],
    ["sign-up for two domains", { SIGN_UP: "domains", SIGN_UP_DOMAINS: "example.com, Example.org" }],
    ["acknowledged self-contained delivery", { PQC_TOKEN_DELIVERY: "self-contained", PQC_SELF_CONTAINED_ACK: "true" }],
    ["a loopback issuer of assertions in development", { ID_JAG_TRUSTED_ISSUERS: "http://localhost:4000" }],
    [
      "features that are switched on",
      { HYBRID_SIGNING_ENABLED: "true", ID_JAG_ENABLED: "true", WALLET_FEDERATION_ENABLED: "true", CIMD_ENABLED: "false" },
    ],
  ];
  test.for(agreements)("%s is accepted", ([, env, role]) => {
    expect(faultsOf(env, role)).toEqual([]);
  });
});

describe("unknown settings", () => {
  const cases: [given: string, said: string][] = [
    ["JWT_ISUER", "did you mean JWT_ISSUER?"],
    ["JWT_PRIVATE_KYE", "did you mean JWT_PRIVATE_KEY?"],
    ["jwt_issuer", "did you mean JWT_ISSUER?"],
    ["DATABASE_URI", "did you mean DATABASE_URL?"],
    ["COUNTERSIGN_TELEMETRY", "remove it."],
    ["JWT_KEY_ROTATION_DAYS", "remove it."],
    ["ID_JAG_TRUSTED_ISSUER", "did you mean ID_JAG_TRUSTED_ISSUERS?"],
    ["PQC_DELIVERY", "did you mean PQC_TOKEN_DELIVERY?"],
  ];
  test.for(cases)("%s is reported with the hint: %s", ([name, said]) => {
    expect(faultsOf({ [name]: "x" })).toEqual([`${name}: Unknown setting; ${said}`]);
  });

  test("edit distance counts insertions, deletions, replacements and swaps of neighbours as one", () => {
    const pairs = [
      ["", "abc"],
      ["abc", "abc"],
      ["abcd", "abdc"],
      ["abc", "xbcy"],
      ["ab", "ba"],
      ["abcd", "badc"],
    ] as const;
    expect(pairs.map(([a, b]) => editsBetween(a, b))).toEqual([3, 0, 1, 2, 1, 3]);
  });
});

test("all faults are reported at once", () => {
  const faults = faultsOf({ PORT: "x", JWT_ISSUER: "/", JWT_ISUER: "y", PQC_TOKEN_DELIVERY: "self-contained", NODE_ENV: "production" });
  expect(faults.map((line) => line.split(":")[0]).sort()).toEqual([
    "JWT_ISSUER",
    "JWT_ISUER",
    "JWT_PRIVATE_KEY",
    "PORT",
    "PQC_TOKEN_DELIVERY",
  ]);
});

test("one invalid key of a pair is reported once", () => {
  expect(faultsOf({ JWT_PRIVATE_KEY: "rubbish", JWT_PUBLIC_KEY: ed.public })).toHaveLength(1);
});

test("no fault contains the value", () => {
  const canary = "canary-7f3a9";
  const faults = faultsOf({
    ...Object.fromEntries(SETTING_NAMES.map((name) => [name, `${canary} ${name} "`])),
    JWT_ISUER: canary,
    TOKEN_CORE_SECRET: `@${canary}`,
  });
  expect(faults.length).toBeGreaterThan(30);
  expect(faults.join("\n")).not.toContain("canary");
});

describe("branding", () => {
  const logoIn = (content: string): Environment => {
    const path = join(mkdtempSync(join(tmpdir(), "logo-")), "logo.svg");
    writeFileSync(path, content);
    return { BRAND_LOGO: path };
  };
  const drawing = '<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0"/></svg>';

  test("is read from its settings, and gives mails their sender", () => {
    const env = { BRAND_NAME: 'Acme "ID"', BRAND_ACCENT: "#B3005E", BRAND_SUPPORT: "help@acme.test", JWT_ISSUER: "https://id.acme.test" };
    const { branding, mail } = loadConfig({ ...env, ...logoIn(drawing) });
    expect(branding).toMatchObject({ name: 'Acme "ID"', accent: "#b3005e", logo: Buffer.from(drawing).toString("base64") });
    expect(mail.from).toBe('"Acme ID" <no-reply@id.acme.test>');
    expect(loadConfig({}).mail.from).toBe("Countersign <no-reply@localhost>");
  });

  test.for([
    [
      { BRAND_ACCENT: "#ffff00" },
      /^BRAND_ACCENT: has a contrast of 1\.0 to 1 on light pages, .* a darker shade such as #[0-9a-f]{6} has enough\.$/,
    ],
    [{ BRAND_ACCENT: "red" }, /^BRAND_ACCENT: is no colour;/],
    [
      logoIn(drawing.replace("path", "script")),
      /^BRAND_LOGO: is an SVG image with the element <script>, which draws nothing; save it as plain SVG/,
    ],
    [{ BRAND_LOGO: "/nowhere/logo.png" }, /^BRAND_LOGO: names a file that cannot be read;/],
    [{ BRAND_TERMS_URL: "javascript:alert(1)" }, /^BRAND_TERMS_URL: is not a URL/],
    [{ BRAND_SUPPORT: "call us" }, /^BRAND_SUPPORT: is neither an e-mail address nor a URL;/],
    [{ BRAND_NAME: "A\u202eb" }, /^BRAND_NAME: is not one line/],
  ] as const)("a fault of %o stops the start", ([env, words]) => {
    expect(faultsOf(env)).toEqual([expect.stringMatching(words)]);
  });
});

test("operators see every setting with its origin, and no value of one that may hold a secret", () => {
  const url = "postgres://countersign:hunter2@db/countersign";
  const { shown } = loadConfig({ DATABASE_URL: url, PORT: "4000" });
  const of = (name: string) => shown.find((each) => each.name === name);
  expect(of("DATABASE_URL")).toMatchObject({ origin: "environment", value: null, isSecret: true });
  expect(of("PORT")).toMatchObject({ origin: "environment", value: "4000" });
  expect(of("SIGN_UP")).toMatchObject({ origin: "default", value: "open", group: "Users" });
  expect(of("SMTP_URL")).toMatchObject({ origin: "default", value: null });
  expect(shown.map(({ name }) => name)).toEqual(SETTING_NAMES);
  expect(JSON.stringify(shown)).not.toContain("hunter2");
});

test("a receiver of the audit trail has no credentials in its address, which none of its protocols would send", () => {
  for (const scheme of ["https", "otlp+https", "syslogs"])
    expect(() => loadConfig({ AUDIT_STREAM: `${scheme}://user:pass@siem.example.test`, AUDIT_STREAM_SECRET: "s".repeat(16) })).toThrow(
      /^AUDIT_STREAM: has a user name or password; give a secret in AUDIT_STREAM_SECRET\.$/,
    );
});

test("a collector takes no credentials in its address, which operators can read", () => {
  expect(() => loadConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: "https://user:pass@collector.example.test" })).toThrow(
    /^OTEL_EXPORTER_OTLP_ENDPOINT: has a user name or password; give credentials in OTEL_EXPORTER_OTLP_HEADERS\.$/,
  );
});

test("an attribute of the process at a collector may be empty, as deployments leave them", () => {
  const { attributes } = loadConfig({ OTEL_RESOURCE_ATTRIBUTES: "service.version=,deployment.environment.name=test%20bed" }).otlp;
  expect(attributes).toEqual({ "service.version": "", "deployment.environment.name": "test bed" });
});

describe("the headers of requests to a collector", () => {
  const headersOf = (text: string) => loadConfig({ OTEL_EXPORTER_OTLP_HEADERS: text }).otlp.headers;

  test("are read as OpenTelemetry specifies them, percent-encoded", () => {
    expect(headersOf("Authorization=Basic%20dTpw==, x-scope=a%2Cb")).toEqual({ Authorization: "Basic dTpw==", "x-scope": "a,b" });
    expect(headersOf("authorization=Bearer abc")).toEqual({ authorization: "Bearer abc" });
  });

  test.for(["Bearer abc", "a=b,", "a=", "a.b=c", "a=%0d%0ab:c", "a=%zz"])("are refused as %s", (text) => {
    expect(() => headersOf(text)).toThrow(/^OTEL_EXPORTER_OTLP_HEADERS: is not a list of headers; give NAME=value/);
  });
});
