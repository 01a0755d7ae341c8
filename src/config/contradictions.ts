import { isIP } from "node:net";
import { certificateFits, certificateNames, isPair } from "./key-material.ts";
import { isHeaderText, NOT_IN_HEADER, says } from "./settings/forms.ts";
import type { SettingName, Settings } from "./settings.ts";

/** The part of the service that this process runs; `command` neither listens nor signs. */
export type Role = "all" | "front" | "core" | "command";

/** Whether a host name always means this machine. @see RFC 6761 §6.3 */
const isLoopback = (host: string) =>
  /^(.+\.)?localhost$/i.test(host) || (isIP(host) === 4 && host.startsWith("127.")) || host === "::1" || host === "[::1]";

/** A rule over several settings, and the fault of `setting` where `isBroken`. Without `roles` it applies to all. */
interface Rule {
  readonly setting: SettingName;
  readonly isBroken: (s: Partial<Settings>) => boolean | undefined;
  readonly fault: string;
  readonly roles: readonly Role[] | undefined;
}

const rule = (setting: SettingName, isBroken: Rule["isBroken"], fault: string, remedy: string, roles?: readonly Role[]): Rule => ({
  setting,
  isBroken,
  fault: says(fault, remedy),
  roles,
});

/** For a setting that means nothing without another one. */
const beside = (setting: SettingName, other: SettingName, remedy: string, roles?: readonly Role[]): Rule =>
  rule(setting, (s) => s[setting] !== undefined && s[other] === undefined, `has no ${other} beside it`, remedy, roles);

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
  rule(
    key,
    ({ [cert]: chain, [key]: privateKey }) => chain !== undefined && privateKey !== undefined && !certificateFits(chain, privateKey),
    `is not the key of ${cert}`,
    "set a certificate and a key that belong together",
  ),
];

const RULES: readonly Rule[] = [
  rule(
    "JWT_ISSUER",
    (s) => production(s) && s.JWT_ISSUER !== undefined && isRemoteHttp(s.JWT_ISSUER),
    "is plain http, which production refuses",
    "give an https URL",
  ),
  rule(
    "JWT_ISSUER",
    (s) => s.PORT === 0 && s.JWT_ISSUER === undefined,
    "is not set while PORT is 0",
    "set it to the address that clients use",
    ["all", "front"],
  ),
  rule("GRPC_PORT", (s) => s.PORT !== 0 && s.PORT === s.GRPC_PORT, "equals PORT", "give each listener its own port", ["all"]),
  // Tests open one embedded database and pass it to both parts.
  rule(
    "DATABASE_URL",
    (s) => s.NODE_ENV !== "test" && s.DATABASE_URL === undefined,
    "is not set, so front and core would each start with an empty database",
    "give both the same PostgreSQL, or serve without --role",
    ["front", "core"],
  ),
  ...together("GRPC_TLS_CERT", "GRPC_TLS_KEY"),
  ...together("TOKEN_CORE_TLS_CERT", "TOKEN_CORE_TLS_KEY"),
  rule(
    "GRPC_TLS_CLIENT_CA",
    (s) => s.GRPC_TLS_CLIENT_CA !== undefined && s.GRPC_TLS_CERT === undefined,
    "asks for client certificates without TLS",
    "set GRPC_TLS_CERT and GRPC_TLS_KEY too",
  ),
  rule(
    "TOKEN_CORE_SECRET",
    (s) => s.GRPC_HOST !== undefined && !isLoopback(s.GRPC_HOST) && s.TOKEN_CORE_SECRET === undefined && s.GRPC_TLS_CLIENT_CA === undefined,
    "is not set, while this core listens beyond loopback",
    "set it here and at every front, or GRPC_TLS_CLIENT_CA for mutual TLS",
    ["core"],
  ),
  // Every other process and container in the machine's network can reach loopback.
  rule(
    "TOKEN_CORE_SECRET",
    (s) =>
      production(s) &&
      (s.GRPC_HOST === undefined || isLoopback(s.GRPC_HOST)) &&
      s.TOKEN_CORE_SECRET === undefined &&
      s.GRPC_TLS_CLIENT_CA === undefined,
    "is not set, but in production a core requires a credential from every front",
    "set it here and at every front, or GRPC_TLS_CLIENT_CA for mutual TLS",
    ["core"],
  ),
  ...(["TOKEN_CORE_SECRET", "TOKEN_CORE_SECRET_PREVIOUS"] as const).map((name) =>
    rule(
      name,
      (s) => production(s) && s[name] !== undefined && s[name].length < 32,
      "is too short for production",
      "give at least 32 random characters",
    ),
  ),
  beside("TOKEN_CORE_SECRET_PREVIOUS", "TOKEN_CORE_SECRET", "set that one, or remove this one", SERVERS),
  rule(
    "TOKEN_CORE_URL",
    (s) => s.TOKEN_CORE_URL === undefined,
    "is not set, and a front alone has no token core",
    "set it to the core's gRPC address",
    ["front"],
  ),
  rule(
    "TOKEN_CORE_URL",
    (s) => s.TOKEN_CORE_URL !== undefined,
    "names a core, but this process runs its own",
    "remove it, or start with --role front",
    ["all"],
  ),
  rule(
    "TOKEN_CORE_URL",
    (s) => s.TOKEN_CORE_URL?.startsWith("http:") === true && (s.TOKEN_CORE_TLS_CERT !== undefined || s.TOKEN_CORE_CA !== undefined),
    "is plain http, while TLS material for it is set",
    "give an https URL, or remove TOKEN_CORE_CA and TOKEN_CORE_TLS_CERT",
  ),
  rule(
    "JWT_PRIVATE_KEY",
    (s) => production(s) && s.JWT_PRIVATE_KEY === undefined,
    "is not set, and production generates no keys",
    "make one with `countersign keys generate`, and set it as PEM text or @path",
    SIGNERS,
  ),
  beside("JWT_PUBLIC_KEY", "JWT_PRIVATE_KEY", "set the private key, or remove this one", SIGNERS),
  beside("JWT_PREVIOUS_PRIVATE_KEY", "JWT_PRIVATE_KEY", "set the key that follows it, or name it JWT_PRIVATE_KEY", SIGNERS),
  rule(
    "JWT_PUBLIC_KEY",
    (s) => s.JWT_PUBLIC_KEY !== undefined && s.JWT_PRIVATE_KEY !== undefined && !isPair(s.JWT_PRIVATE_KEY, s.JWT_PUBLIC_KEY),
    "does not belong to JWT_PRIVATE_KEY",
    "set both keys of one pair, or remove this one",
  ),
  rule(
    "JWT_RSA_PRIVATE_KEY",
    (s) => production(s) && s.ID_TOKEN_SIGNING_ALG === "RS256" && s.JWT_RSA_PRIVATE_KEY === undefined,
    "is not set, which RS256 needs in production",
    "set it, or ID_TOKEN_SIGNING_ALG=EdDSA",
    SIGNERS,
  ),
  rule(
    "JWT_MLDSA_PRIVATE_KEY",
    (s) => production(s) && s.HYBRID_SIGNING_ENABLED && s.JWT_MLDSA_PRIVATE_KEY === undefined,
    "is not set, which hybrid signing needs in production",
    "set it, or HYBRID_SIGNING_ENABLED=false",
    SIGNERS,
  ),
  rule(
    "PQC_TOKEN_DELIVERY",
    (s) => s.PQC_TOKEN_DELIVERY === "self-contained" && s.PQC_SELF_CONTAINED_ACK === false,
    "is self-contained without its acknowledgement",
    "set PQC_SELF_CONTAINED_ACK=true, or deliver by reference",
  ),
  rule(
    "WORKERS",
    (s) => (s.WORKERS ?? 1) > 1 && s.DATABASE_URL === undefined,
    "is more than one on the embedded database, which one process alone can open",
    "set DATABASE_URL, or WORKERS=1",
    ["all"],
  ),
  rule(
    "WORKERS",
    (s) => (s.WORKERS ?? 1) > 1 && s.DATABASE_URL !== undefined && s.REDIS_URL === undefined,
    "is more than one without Redis, so that each worker would count rates on its own",
    "set REDIS_URL, or WORKERS=1",
    ["all", "front", "core"],
  ),
  rule(
    "WORKERS",
    (s) => (s.WORKERS ?? 1) > 1 && (s.PORT === 0 || s.GRPC_PORT === 0),
    "is more than one, and workers cannot share a port that the system chooses",
    "set PORT and GRPC_PORT",
    ["all", "front", "core"],
  ),
  rule(
    "DATABASE_CONNECTIONS",
    (s) => s.DATABASE_CONNECTIONS !== undefined && s.DATABASE_CONNECTIONS < 2 * (s.WORKERS ?? 1),
    "is less than two for each worker",
    "allow more connections, or set fewer WORKERS",
  ),
  rule(
    "DATABASE_POOLER",
    (s) => s.DATABASE_POOLER === "transaction" && s.DATABASE_URL === undefined,
    "has no DATABASE_URL beside it",
    "set the pooler's address, or remove this one",
  ),
  rule(
    "AUDIT_STREAM_SECRET",
    (s) => s.AUDIT_STREAM?.startsWith("http") === true && s.AUDIT_STREAM_SECRET === undefined,
    "is not set, which a webhook needs",
    "give at least 16 random characters, and the same to the receiver",
    SERVERS,
  ),
  rule(
    "AUDIT_STREAM_SECRET",
    (s) => s.AUDIT_STREAM?.startsWith("otlp") === true && s.AUDIT_STREAM_SECRET !== undefined && !isHeaderText(s.AUDIT_STREAM_SECRET),
    ...NOT_IN_HEADER,
  ),
  rule(
    "AUDIT_STREAM",
    (s) => production(s) && /^(?:otlp\+)?http:|^syslog:/.test(s.AUDIT_STREAM ?? "") && !isLoopback(new URL(s.AUDIT_STREAM ?? "").hostname),
    "is not encrypted, which production refuses",
    "give an https, otlp+https or syslogs URL; plain ones are for a forwarder on this machine",
  ),
  rule(
    "AUDIT_ARCHIVE",
    (s) => s.AUDIT_KEEP_DAYS !== undefined && s.AUDIT_ARCHIVE === undefined,
    "is not set, which AUDIT_KEEP_DAYS needs",
    "give a folder that is backed up: audit records are exported to it before they are removed",
  ),
  rule(
    "SIGN_UP_DOMAINS",
    (s) => s.SIGN_UP === "domains" && s.SIGN_UP_DOMAINS?.length === 0,
    "is not set, which SIGN_UP=domains needs",
    "list the domains whose addresses may sign up",
  ),
  rule(
    "SIGN_UP_DOMAINS",
    (s) => s.SIGN_UP !== "domains" && (s.SIGN_UP_DOMAINS?.length ?? 0) > 0,
    "has no effect without SIGN_UP=domains",
    "set that, or remove the domains",
  ),
  rule(
    "ID_JAG_TRUSTED_ISSUERS",
    (s) => s.JWT_ISSUER !== undefined && s.ID_JAG_TRUSTED_ISSUERS?.includes(s.JWT_ISSUER),
    "names this server itself",
    "remove its own issuer from the list",
  ),
  rule(
    "ID_JAG_TRUSTED_ISSUERS",
    (s) => s.ID_JAG_TRUSTED_ISSUERS?.some((issuer) => (production(s) ? issuer.startsWith("http:") : isRemoteHttp(issuer))),
    "names a plain-http issuer",
    "give https URLs; http is for loopback hosts outside production",
  ),
  rule(
    "WALLET_TRUSTED_ISSUERS",
    (s) => s.WALLET_TRUSTED_ISSUERS?.some((issuer) => issuer.startsWith("http:")),
    "names a plain-http issuer",
    "give https URLs",
  ),
  ...together("WALLET_VERIFIER_CERT", "WALLET_VERIFIER_KEY", ["all", "front"]),
  // Wallets send responses only to the host that the certificate names (OpenID4VP 1.0 §5.9.3).
  rule(
    "WALLET_VERIFIER_CERT",
    (s) =>
      s.WALLET_VERIFIER_CERT !== undefined &&
      s.WALLET_CLIENT_ID_PREFIX === "x509_san_dns" &&
      !certificateNames(s.WALLET_VERIFIER_CERT, new URL(s.JWT_ISSUER ?? "http://localhost").hostname),
    "does not name the host of JWT_ISSUER",
    "give a certificate that does, or set WALLET_CLIENT_ID_PREFIX=x509_hash",
    ["all", "front"],
  ),
];

/** Faults of settings that are valid alone but not together. Pure. @param faulty settings whose rules are skipped */
export function contradictions(
  settings: Partial<Settings>,
  faulty: ReadonlySet<string>,
  role: Role,
): { setting: SettingName; fault: string }[] {
  return RULES.filter(({ roles }) => roles === undefined || roles.includes(role)).flatMap(({ setting, isBroken, fault }) => {
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
