import type { ManagementOutputs } from "@countersign/admin";
import { isLoopbackHost } from "../../protocol/access.ts";
import { databaseFindings } from "./database.ts";
import { type Finding, findingsAbout, shown } from "./finding.ts";

export type Deployment = ManagementOutputs["operator"]["deployment"]["get"];
type SigningKey = ManagementOutputs["operator"]["signingKeys"]["list"]["signingKeys"][number];

/** Requests from which on a single address is noteworthy. */
const MANY_REQUESTS = 50;
/** Days after which a signing key should have been replaced. */
const OLD_KEY = 365;
const DAY_MS = 86_400_000;

/** What an operator should know about a running Countersign, as it describes itself. Pure. @param now in milliseconds */
export function deploymentFindings(deployment: Deployment, keys: readonly SigningKey[], now: number): readonly Finding[] {
  const about = `Deployment of ${shown(deployment.issuer)}`;
  return [
    ...environmentFindings(about, deployment),
    ...callerFindings(about, deployment),
    keyAgeFinding(about, keys, now),
    ...(deployment.database.kind === "postgresql" ? databaseFindings(deployment.database.settings) : []),
  ];
}

/** What is right for a trial and wrong in production. */
function environmentFindings(about: string, { environment, issuer, signUp, mail, redis, database }: Deployment): readonly Finding[] {
  const { ok, warning, fault } = findingsAbout(about);
  if (environment !== "production")
    return [ok("environment", `runs for ${environment}: sign-up, mail and database are not checked as they would be in production`)];
  const { protocol, hostname } = new URL(issuer);
  const secure =
    protocol === "https:"
      ? ok("https", "its issuer is https, and browsers are kept to it (HSTS)")
      : fault("https", "its issuer is plain http", "put a TLS proxy before it, and set JWT_ISSUER=https://…");
  return [
    protocol !== "https:" && isLoopbackHost(hostname) ? ok("https", "its issuer is this machine") : secure,
    signUp === "open"
      ? warning("sign_up", "anyone may open an account", "set SIGN_UP=domains, invited or closed if that is not intended")
      : ok("sign_up", `sign-up is limited (SIGN_UP=${signUp})`),
    mail === "smtp"
      ? ok("mail", "mails are sent by SMTP")
      : fault("mail", "mails are written to files under DATA_DIR/outbox: users never get them", "set SMTP_URL and MAIL_FROM"),
    database.kind === "postgresql"
      ? ok("database", "data is in PostgreSQL")
      : fault("database", "data is in the embedded database, which may lose changes in a power failure", "set DATABASE_URL"),
    redis
      ? ok("redis_configured", "rates are counted in Redis")
      : warning("redis_configured", "each process counts rates on its own", "set REDIS_URL if there is more than one front"),
  ];
}

function callerFindings(about: string, { trustProxy, callers }: Deployment): readonly Finding[] {
  const { ok, warning } = findingsAbout(about);
  const { requests, oneAddress, proxyHeadersIgnored } = callers;
  if (proxyHeadersIgnored > 0)
    return [
      warning(
        "proxy",
        `${proxyHeadersIgnored} requests came through a proxy, but TRUST_PROXY is off: limits and audit records see the proxy's address for every caller`,
        "set TRUST_PROXY=true if the proxy sets X-Forwarded-For itself",
      ),
    ];
  if (oneAddress && requests >= MANY_REQUESTS)
    return [
      warning(
        "callers",
        `all ${requests} requests since the start came from one address, so that limits count all callers as one`,
        trustProxy ? "let the proxy set X-Forwarded-For" : "if there is a proxy, let it set X-Forwarded-For, and set TRUST_PROXY=true",
      ),
    ];
  return [ok("callers", "requests come from more than one address, or are still few")];
}

function keyAgeFinding(about: string, keys: readonly SigningKey[], now: number): Finding {
  const { ok, warning } = findingsAbout(about);
  const signing = keys.filter(({ state }) => state === "signing");
  const [oldest] = signing.toSorted((one, other) => one.publishedAt - other.publishedAt);
  if (oldest === undefined) return warning("key_age", "no core reports a key that it signs with", "see `countersign keys list`");
  const days = Math.max(0, Math.floor((now - oldest.publishedAt) / DAY_MS));
  const age = `the signing key ${shown(oldest.kid)} is ${days} day${days === 1 ? "" : "s"} old`;
  return days > OLD_KEY ? warning("key_age", age, "replace it: docs/keys.md") : ok("key_age", age);
}
