import { isIP } from "node:net";
import { certificateFits, certificateNames, isPair } from "./key-material.ts";
import { isHeaderText, NOT_IN_HEADER, says } from "./settings/forms.ts";
import type { SettingName, Settings } from "./settings.ts";

/** The part of the service that this process runs; `command` neither listens nor signs. */
export type Role = "all" | "front" | "core" | "command";

/** Whether a host name always means this machine. @see RFC 6761 §6.3 */
const isLoopback = (host: string) =>
  /^(.+\.)?localhost$/i.test(host) || (isIP(host) === 4 && host.startsWith("127.")) || host === "::1" || host === "[::1]";

/** A rule over several settings, and the fault of the first where it is broken. Without roles it applies to all. */
type Rule = readonly [
  setting: SettingName,
  fault: string,
  isBroken: (s: Partial<Settings>) => boolean | undefined,
  roles?: readonly Role[] | undefined,
];

/** For a setting that means nothing without another one. */
const beside = (setting: SettingName, other: SettingName, remedy: string, roles?: readonly Role[]): Rule => [
  setting,
  `has no ${other} beside it; ${remedy}`,
  (s) => s[setting] !== undefined && s[other] === undefined,
  roles,
];

const SIGNERS: readonly Role[] = ["all", "core"];
/** Not commands, which are often given the settings of servers without their secrets. */
const SERVERS: readonly Role[] = ["all", "front", "core"];
const production = (s: Partial<Settings>) => s.NODE_ENV === "production";
const isRemoteHttp = (url: string) => url.startsWith("http:") && !isLoopback(new URL(url).hostname);

type CertificateSetting = "GRPC_TLS_CERT" | "TOKEN_CORE_TLS_CERT" | "WALLET_VERIFIER_CERT";
type CertificateKeySetting = "GRPC_TLS_KEY" | "TOKEN_CORE_TLS_KEY" | "WALLET_VERIFIER_KEY";

const together = (cert: CertificateSetting, key: CertificateKeySetting, roles?: readonly Role[]): readonly Rule[] => [
  beside(cert, key, `set ${key} too`, roles),
  beside(key, cert, `set ${cert} too`),
  [
    key,
    `is not the key of ${cert}; set a certificate and a key that belong together`,
    ({ [cert]: chain, [key]: privateKey }) => chain !== undefined && privateKey !== undefined && !certificateFits(chain, privateKey),
  ],
];

const RULES: readonly Rule[] = [
  [
    "JWT_ISSUER",
    "is plain http, which production refuses; give an https URL",
    (s) => production(s) && s.JWT_ISSUER !== undefined && isRemoteHttp(s.JWT_ISSUER),
  ],
  [
    "JWT_ISSUER",
    "is not set while PORT is 0; set it to the address that clients use",
    (s) => s.PORT === 0 && s.JWT_ISSUER === undefined,
    ["all", "front"],
  ],
  ["GRPC_PORT", "equals PORT; give each listener its own port", (s) => s.PORT !== 0 && s.PORT === s.GRPC_PORT, ["all"]],
  // Tests open one embedded database and pass it to both parts.
  [
    "DATABASE_URL",
    "is not set, so front and core would each start with an empty database; give both the same PostgreSQL, or serve without --role",
    (s) => s.NODE_ENV !== "test" && s.DATABASE_URL === undefined,
    ["front", "core"],
  ],
  ...together("GRPC_TLS_CERT", "GRPC_TLS_KEY"),
  ...together("TOKEN_CORE_TLS_CERT", "TOKEN_CORE_TLS_KEY"),
  [
    "GRPC_TLS_CLIENT_CA",
    "asks for client certificates without TLS; set GRPC_TLS_CERT and GRPC_TLS_KEY too",
    (s) => s.GRPC_TLS_CLIENT_CA !== undefined && s.GRPC_TLS_CERT === undefined,
  ],
  [
    "TOKEN_CORE_SECRET",
    "is not set, while this core listens beyond loopback; set it here and at every front, or GRPC_TLS_CLIENT_CA for mutual TLS",
    (s) => s.GRPC_HOST !== undefined && !isLoopback(s.GRPC_HOST) && s.TOKEN_CORE_SECRET === undefined && s.GRPC_TLS_CLIENT_CA === undefined,
    ["core"],
  ],
  // Every other process and container in the machine's network can reach loopback.
  [
    "TOKEN_CORE_SECRET",
    "is not set, but in production a core requires a credential from every front; set it here and at every front, or GRPC_TLS_CLIENT_CA for mutual TLS",
    (s) =>
      production(s) &&
      (s.GRPC_HOST === undefined || isLoopback(s.GRPC_HOST)) &&
      s.TOKEN_CORE_SECRET === undefined &&
      s.GRPC_TLS_CLIENT_CA === undefined,
    ["core"],
  ],
  ...(["TOKEN_CORE_SECRET", "TOKEN_CORE_SECRET_PREVIOUS"] as const).map(
    (name): Rule => [
      name,
      "is too short for production; give at least 32 random characters",
      (s) => production(s) && s[name] !== undefined && s[name].length < 32,
    ],
  ),
  beside("TOKEN_CORE_SECRET_PREVIOUS", "TOKEN_CORE_SECRET", "set that one, or remove this one", SERVERS),
  [
    "TOKEN_CORE_URL",
    "is not set, and a front alone has no token core; set it to the core's gRPC address",
    (s) => s.TOKEN_CORE_URL === undefined,
    ["front"],
  ],
  [
    "TOKEN_CORE_URL",
    "names a core, but this process runs its own; remove it, or start with --role front",
    (s) => s.TOKEN_CORE_URL !== undefined,
    ["all"],
  ],
  [
    "TOKEN_CORE_URL",
    "is plain http, while TLS material for it is set; give an https URL, or remove TOKEN_CORE_CA and TOKEN_CORE_TLS_CERT",
    (s) => s.TOKEN_CORE_URL?.startsWith("http:") === true && (s.TOKEN_CORE_TLS_CERT !== undefined || s.TOKEN_CORE_CA !== undefined),
  ],
  [
    "JWT_PRIVATE_KEY",
    "is not set, and production generates no keys; make one with `countersign keys generate`, and set it as PEM text or @path",
    (s) => production(s) && s.JWT_PRIVATE_KEY === undefined,
    SIGNERS,
  ],
  beside("JWT_PUBLIC_KEY", "JWT_PRIVATE_KEY", "set the private key, or remove this one", SIGNERS),
  beside("JWT_PREVIOUS_PRIVATE_KEY", "JWT_PRIVATE_KEY", "set the key that follows it, or name it JWT_PRIVATE_KEY", SIGNERS),
  [
    "JWT_PUBLIC_KEY",
    "does not belong to JWT_PRIVATE_KEY; set both keys of one pair, or remove this one",
    (s) => s.JWT_PUBLIC_KEY !== undefined && s.JWT_PRIVATE_KEY !== undefined && !isPair(s.JWT_PRIVATE_KEY, s.JWT_PUBLIC_KEY),
  ],
  [
    "JWT_RSA_PRIVATE_KEY",
    "is not set, which RS256 needs in production; set it, or ID_TOKEN_SIGNING_ALG=EdDSA",
    (s) => production(s) && s.ID_TOKEN_SIGNING_ALG === "RS256" && s.JWT_RSA_PRIVATE_KEY === undefined,
    SIGNERS,
  ],
  [
    "JWT_MLDSA_PRIVATE_KEY",
    "is not set, which hybrid signing needs in production; set it, or HYBRID_SIGNING_ENABLED=false",
    (s) => production(s) && s.HYBRID_SIGNING_ENABLED && s.JWT_MLDSA_PRIVATE_KEY === undefined,
    SIGNERS,
  ],
  [
    "PQC_TOKEN_DELIVERY",
    "is self-contained without its acknowledgement; set PQC_SELF_CONTAINED_ACK=true, or deliver by reference",
    (s) => s.PQC_TOKEN_DELIVERY === "self-contained" && s.PQC_SELF_CONTAINED_ACK === false,
  ],
  [
    "WORKERS",
    "is more than one on the embedded database, which one process alone can open; set DATABASE_URL, or WORKERS=1",
    (s) => (s.WORKERS ?? 1) > 1 && s.DATABASE_URL === undefined,
    ["all"],
  ],
  [
    "WORKERS",
    "is more than one without Redis, so that each worker would count rates on its own; set REDIS_URL, or WORKERS=1",
    (s) => (s.WORKERS ?? 1) > 1 && s.DATABASE_URL !== undefined && s.REDIS_URL === undefined,
    ["all", "front", "core"],
  ],
  [
    "WORKERS",
    "is more than one, and workers cannot share a port that the system chooses; set PORT and GRPC_PORT",
    (s) => (s.WORKERS ?? 1) > 1 && (s.PORT === 0 || s.GRPC_PORT === 0),
    ["all", "front", "core"],
  ],
  [
    "DATABASE_CONNECTIONS",
    "is less than two for each worker; allow more connections, or set fewer WORKERS",
    (s) => s.DATABASE_CONNECTIONS !== undefined && s.DATABASE_CONNECTIONS < 2 * (s.WORKERS ?? 1),
  ],
  [
    "DATABASE_POOLER",
    "has no DATABASE_URL beside it; set the pooler's address, or remove this one",
    (s) => s.DATABASE_POOLER === "transaction" && s.DATABASE_URL === undefined,
  ],
  [
    "AUDIT_STREAM_SECRET",
    "is not set, which a webhook needs; give at least 16 random characters, and the same to the receiver",
    (s) => s.AUDIT_STREAM?.startsWith("http") === true && s.AUDIT_STREAM_SECRET === undefined,
    SERVERS,
  ],
  [
    "AUDIT_STREAM_SECRET",
    says(...NOT_IN_HEADER),
    (s) => s.AUDIT_STREAM?.startsWith("otlp") === true && s.AUDIT_STREAM_SECRET !== undefined && !isHeaderText(s.AUDIT_STREAM_SECRET),
  ],
  [
    "AUDIT_STREAM",
    "is not encrypted, which production refuses; give an https, otlp+https or syslogs URL; plain ones are for a forwarder on this machine",
    (s) => production(s) && /^(?:otlp\+)?http:|^syslog:/.test(s.AUDIT_STREAM ?? "") && !isLoopback(new URL(s.AUDIT_STREAM ?? "").hostname),
  ],
  [
    "AUDIT_ARCHIVE",
    "is not set, which AUDIT_KEEP_DAYS needs; give a folder that is backed up: audit records are exported to it before they are removed",
    (s) => s.AUDIT_KEEP_DAYS !== undefined && s.AUDIT_ARCHIVE === undefined,
  ],
  [
    "SIGN_UP_DOMAINS",
    "is not set, which SIGN_UP=domains needs; list the domains whose addresses may sign up",
    (s) => s.SIGN_UP === "domains" && s.SIGN_UP_DOMAINS?.length === 0,
  ],
  [
    "SIGN_UP_DOMAINS",
    "has no effect without SIGN_UP=domains; set that, or remove the domains",
    (s) => s.SIGN_UP !== "domains" && (s.SIGN_UP_DOMAINS?.length ?? 0) > 0,
  ],
  [
    "ID_JAG_TRUSTED_ISSUERS",
    "names this server itself; remove its own issuer from the list",
    (s) => s.JWT_ISSUER !== undefined && s.ID_JAG_TRUSTED_ISSUERS?.includes(s.JWT_ISSUER),
  ],
  [
    "ID_JAG_TRUSTED_ISSUERS",
    "names a plain-http issuer; give https URLs; http is for loopback hosts outside production",
    (s) => s.ID_JAG_TRUSTED_ISSUERS?.some((issuer) => (production(s) ? issuer.startsWith("http:") : isRemoteHttp(issuer))),
  ],
  [
    "WALLET_TRUSTED_ISSUERS",
    "names a plain-http issuer; give https URLs",
    (s) => s.WALLET_TRUSTED_ISSUERS?.some((issuer) => issuer.startsWith("http:")),
  ],
  ...together("WALLET_VERIFIER_CERT", "WALLET_VERIFIER_KEY", ["all", "front"]),
  // Wallets send responses only to the host that the certificate names (OpenID4VP 1.0 §5.9.3).
  [
    "WALLET_VERIFIER_CERT",
    "does not name the host of JWT_ISSUER; give a certificate that does, or set WALLET_CLIENT_ID_PREFIX=x509_hash",
    (s) =>
      s.WALLET_VERIFIER_CERT !== undefined &&
      s.WALLET_CLIENT_ID_PREFIX === "x509_san_dns" &&
      !certificateNames(s.WALLET_VERIFIER_CERT, new URL(s.JWT_ISSUER ?? "http://localhost").hostname),
    ["all", "front"],
  ],
];

/** Faults of settings that are valid alone but not together. Pure. @param faulty settings whose rules are skipped */
export function contradictions(
  settings: Partial<Settings>,
  faulty: ReadonlySet<string>,
  role: Role,
): { setting: SettingName; fault: string }[] {
  return RULES.filter(([, , , roles = [role]]) => roles.includes(role)).flatMap(([setting, fault, isBroken]) => {
    let readsFaulty = faulty.has(setting);
    const watched = new Proxy(settings, {
      get: (target, name) => {
        readsFaulty ||= typeof name === "string" && faulty.has(name);
        return Reflect.get(target, name);
      },
    });
    return isBroken(watched) && !readsFaulty ? [{ setting, fault }] : [];
  });
}
