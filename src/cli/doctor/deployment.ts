import type { ManagementOutputs } from "@countersign/admin";
import { isOpenIdentity } from "../../clients/workload.ts";
import { databaseFault, UNANSWERED } from "../../database-fault.ts";
import { type CheckResult, counted, type Finding, fault, findingsAbout, ok, shown, warning } from "./finding.ts";

export type Deployment = ManagementOutputs["operator"]["deployment"]["get"];
type SigningKey = ManagementOutputs["operator"]["signingKeys"]["list"]["signingKeys"][number];

/** Requests from which on a single address is noteworthy. */
const MANY_REQUESTS = 50;
/** Days after which a signing key should have been replaced. */
const OLD_KEY = 365;
const DAY_MS = 86_400_000;

/** What an operator should know about a running Countersign, as it describes itself. Pure. @param now in milliseconds */
export function deploymentFindings(deployment: Deployment, keys: readonly SigningKey[], now: number): readonly Finding[] {
  return [
    ...findingsAbout(`Deployment of ${shown(deployment.issuer)}`, [
      ...environmentFindings(deployment),
      callerFinding(deployment),
      keyAgeFinding(keys, now),
      ...certificateFindings(deployment, now),
    ]),
    ...(deployment.database.kind === "postgresql" ? databaseFindings(deployment.database.settings) : []),
  ];
}

/** What is right for a trial and wrong in production. */
function environmentFindings({ environment, issuer, signUp, postponedMails, unsafe }: Deployment): readonly CheckResult[] {
  if (environment !== "production")
    return [ok("environment", `runs for ${environment}: sign-up, mail and database are not checked as they would be in production`)];
  const isUnsafe = (setting: string) => unsafe.includes(setting);
  const secure = issuer.startsWith("https:") ? "its issuer is https, and browsers are kept to it (HSTS)" : "its issuer is this machine";
  return [
    isUnsafe("JWT_ISSUER")
      ? fault("https", "its issuer is plain http", "put a TLS proxy before it, and set JWT_ISSUER=https://…")
      : ok("https", secure),
    isUnsafe("SIGN_UP")
      ? warning("sign_up", "anyone may open an account", "set SIGN_UP=domains, invited or closed if that is not intended")
      : ok("sign_up", `sign-up is limited (SIGN_UP=${signUp})`),
    isUnsafe("SMTP_URL")
      ? fault("mail", "mails are written to files under DATA_DIR/outbox: users never get them", "set SMTP_URL and MAIL_FROM")
      : postponedMails > 0
        ? fault(
            "mail",
            `${counted(postponedMails, "mail")} could not be sent yet`,
            "see mail_postponed in the log of a front, and set SMTP_URL right",
          )
        : ok("mail", "mails are sent by SMTP, and none waits that was refused"),
    isUnsafe("DATABASE_URL")
      ? fault("database", "data is in the embedded database, which may lose changes in a power failure", "set DATABASE_URL")
      : ok("database", "data is in PostgreSQL"),
    isUnsafe("REDIS_URL")
      ? warning("redis_configured", "each process counts rates on its own", "set REDIS_URL if there is more than one front")
      : ok("redis_configured", "REDIS_URL is set, by which processes share their rates"),
  ];
}

function callerFinding({ environment, trustProxy, callers }: Deployment): CheckResult {
  const { requests, oneAddress, proxyHeadersIgnored } = callers;
  if (proxyHeadersIgnored > 0)
    return warning(
      "proxy",
      `${counted(proxyHeadersIgnored, "request")} came through a proxy, but TRUST_PROXY is off: limits and audit records see the proxy's address for every caller`,
      "set TRUST_PROXY=true if the proxy sets X-Forwarded-For itself",
    );
  const isOneCaller = oneAddress && requests >= MANY_REQUESTS;
  if (isOneCaller && environment === "production")
    return warning(
      "callers",
      `all ${requests} requests since the start came from one address, so that limits count all callers as one`,
      trustProxy ? "let the proxy set X-Forwarded-For" : "if there is a proxy, let it set X-Forwarded-For, and set TRUST_PROXY=true",
    );
  const few = "requests come from more than one address, or are still few";
  return ok("callers", isOneCaller ? `all requests come from one address, as is usual in ${environment}` : few);
}

type TestedConnection = ManagementOutputs["operator"]["connections"]["test"] & { readonly name: string };

/** Whether users can sign in by each identity provider. Pure. */
export function connectionFindings(tested: readonly TestedConnection[]): readonly Finding[] {
  const results = tested.map(({ name, works, stage, reason }) =>
    works
      ? ok(`connection_${name}`, `${shown(name)}: the provider can be used, and knows this server`)
      : fault(
          `connection_${name}`,
          `${shown(name)}: ${stage === "metadata" ? "its metadata cannot be used" : "it does not accept the client id and secret"} (${shown(reason ?? "")})`,
          stage === "metadata"
            ? `check the issuer: countersign connections show ${shown(name)}`
            : "check client id, secret and redirect URI at the provider",
        ),
  );
  return findingsAbout("Connections", results);
}

type Identity = ManagementOutputs["operator"]["workloadIdentities"]["list"]["identities"][number];

/** Whether the workloads that are clients are as few as their operators think. Pure. */
export function workloadFindings(identities: readonly Identity[]): readonly Finding[] {
  if (identities.length === 0) return [];
  const open = identities.filter(isOpenIdentity);
  const none = ok("workload_subjects", "no identity of a repository is open to all of its branches");
  const results = open.map(({ clientId, subject }) =>
    warning(
      "workload_subjects",
      `any branch or pull request could present ${shown(subject)}, and act as the client ${shown(clientId)}`,
      `name an environment or a ref, in the subject or as a claim: countersign workloads assign ${shown(clientId)}`,
    ),
  );
  return findingsAbout("Workloads", results.length === 0 ? [none] : results);
}

function keyAgeFinding(keys: readonly SigningKey[], now: number): CheckResult {
  const signing = keys.filter(({ state }) => state === "signing");
  const [oldest] = signing.toSorted((one, other) => one.publishedAt - other.publishedAt);
  if (oldest === undefined) return warning("key_age", "no core reports a key that it signs with", "see `countersign keys list`");
  const days = Math.max(0, Math.floor((now - oldest.publishedAt) / DAY_MS));
  const age = `the signing key ${shown(oldest.kid)} is ${counted(days, "day")} old`;
  return days > OLD_KEY ? warning("key_age", age, "replace it: docs/keys.md") : ok("key_age", age);
}

function certificateFindings({ certificates }: Deployment, now: number): readonly CheckResult[] {
  return certificates.map(({ setting, expiresAt, soon }) => {
    const which = `the certificate of ${shown(setting)}`;
    const days = Math.floor((expiresAt - now) / DAY_MS);
    const remedy = "replace it, and restart the process";
    if (expiresAt <= now) return fault("certificate", `${which} has expired`, remedy);
    const found = `${which} expires in ${counted(days, "day")}`;
    return soon ? warning("certificate", found, remedy) : ok("certificate", found);
  });
}

const aboutDatabase = (results: readonly CheckResult[]) => findingsAbout("Database at DATABASE_URL", results);

/** Checks that PostgreSQL is recent, and that its settings cannot lose an acknowledged revocation. Pure. */
export function databaseFindings(settings: Readonly<Record<string, string>>): readonly Finding[] {
  const durable = ["fsync", "full_page_writes", "synchronous_commit"].map((name) =>
    settings[name] !== "off" && settings[name] !== "local"
      ? ok(name, `PostgreSQL: ${name} is on`)
      : fault(name, `PostgreSQL: ${name} is ${settings[name]}: acknowledged changes may be lost in a crash`, `set ${name} = on`),
  );
  const recent = Number(settings.server_version_num ?? 0) >= 150_000;
  const version = recent
    ? ok("version", "PostgreSQL is 15 or newer")
    : fault("version", "PostgreSQL is older than 15", "upgrade PostgreSQL");
  return aboutDatabase([...durable, version]);
}

export async function checkDatabase(databaseUrl: string): Promise<readonly Finding[]> {
  try {
    return databaseFindings(await databaseSettings(databaseUrl));
  } catch (error) {
    const { what, remedy } = databaseFault(error) ?? UNANSWERED;
    return aboutDatabase([fault("database", what, remedy)]);
  }
}

async function databaseSettings(databaseUrl: string): Promise<Readonly<Record<string, string>>> {
  const { default: pg } = await import("pg");
  const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: 2000 });
  client.on("error", () => undefined); // the query reports it
  await client.connect();
  const names = "'fsync', 'full_page_writes', 'synchronous_commit', 'server_version_num'";
  const { rows } = await client.query(`select name, setting from pg_settings where name in (${names})`).finally(() => client.end());
  return Object.fromEntries(rows.map(({ name, setting }) => [name, setting]));
}
