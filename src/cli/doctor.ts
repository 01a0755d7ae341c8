import { type Command, InvalidArgumentError } from "commander";
import { FORWARDED_IGNORED } from "../telemetry/metric-names.ts";
import { printable } from "./table.ts";
import { running, type Terminal } from "./terminal.ts";

/** The result of one check. A fault must be fixed; a warning may be intended. */
export type Finding = { readonly verdict: "good" | "warning" | "fault"; readonly sentence: string };

const good = (sentence: string): Finding => ({ verdict: "good", sentence });
const fault = (sentence: string): Finding => ({ verdict: "fault", sentence });
const warning = (sentence: string): Finding => ({ verdict: "warning", sentence });
const check = (holds: boolean, sentence: string, otherwise: Finding): Finding => (holds ? good(sentence) : otherwise);

type Json = Readonly<Record<string, unknown>>;

/** What the checks know about the service; undefined members could not be fetched. */
export interface Observations {
  /** The URL of the service. */
  readonly url: string;
  readonly health: { readonly status: number; readonly body: Json } | undefined;
  readonly metadata: Json | undefined;
  readonly openid: Json | undefined;
  readonly keys: readonly Json[] | undefined;
  /** Requests whose proxy headers were ignored; undefined if the metrics cannot be read. */
  readonly forwardedIgnored: number | undefined;
  /** Seconds by which the service's clock is ahead of this machine's. */
  readonly clockAhead: number | undefined;
}

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;
const PRIVATE_MEMBERS = ["d", "p", "q", "dp", "dq", "qi", "oth", "k", "priv"];
const IDENTITY_SCOPES = ["openid", "profile", "email", "offline_access"];
const NOTEWORTHY_SECONDS = 5;

const lists = (value: unknown, wanted: string): boolean => Array.isArray(value) && value.includes(wanted);

/** Problems that clients of the service will have. Pure. @see RFC 8414 §3.3, RFC 7517 §4 */
export function serviceFindings({ url, health, metadata, openid, keys, forwardedIgnored, clockAhead }: Observations): readonly Finding[] {
  if (health === undefined) return [fault(`nothing answers at ${url}`)];
  const found: Finding[] = [
    check(health.status === 200, "it is healthy", fault(`its health is ${printable(String(health.body.status ?? health.status))}`)),
  ];
  if (health.body.status === "degraded") found.push(warning("Redis does not answer: each process counts rates on its own"));
  if (metadata === undefined) return [...found, fault("it serves no metadata at /.well-known/oauth-authorization-server")];

  const { protocol, hostname } = new URL(url);
  const registrable =
    Array.isArray(metadata.scopes_supported) && metadata.scopes_supported.some((scope) => !IDENTITY_SCOPES.includes(String(scope)));
  const narrow =
    "clients that register themselves cannot have scopes of your resources: add them to DEFAULT_DYNAMIC_REGISTRATION_SCOPES if they should";
  found.push(
    check(
      metadata.issuer === url,
      `it is the issuer ${url}`,
      fault(`its issuer is ${printable(String(metadata.issuer))}: clients that expect ${url} reject its metadata; set JWT_ISSUER`),
    ),
    check(
      openid?.issuer === metadata.issuer,
      "both discovery documents agree",
      fault("the OpenID configuration names another issuer, or is missing"),
    ),
    check(
      protocol === "https:" || LOOPBACK.test(hostname),
      "credentials can be sent to its address safely",
      fault("it is reached over plain http"),
    ),
    check(lists(metadata.code_challenge_methods_supported, "S256"), "PKCE with S256 is offered", fault("PKCE with S256 is not offered")),
    check(registrable, "clients that register themselves can have scopes of your resources", warning(narrow)),
    check(
      keys?.some(({ alg, kid }) => alg === "EdDSA" && kid !== undefined) === true,
      "an Ed25519 key is published",
      fault("no Ed25519 key is published: tokens cannot be verified"),
    ),
  );
  const leaking = keys?.some((key) => PRIVATE_MEMBERS.some((member) => member in key)) === true;
  if (leaking) found.push(fault("a PRIVATE key is published: replace it now"));
  if (forwardedIgnored !== undefined) {
    const untrusted =
      "requests arrive through a proxy, but TRUST_PROXY is off: limits and audit records see the proxy's address for every caller; set TRUST_PROXY=true if the proxy sets X-Forwarded-For itself";
    found.push(check(forwardedIgnored === 0, "no request has headers of an untrusted proxy", warning(untrusted)));
  }
  if (clockAhead !== undefined) {
    const apart = `its clock is ${Math.abs(Math.round(clockAhead))} seconds ${clockAhead > 0 ? "ahead of" : "behind"} this machine's`;
    found.push(check(Math.abs(clockAhead) <= NOTEWORTHY_SECONDS, "its clock agrees with this machine's", warning(apart)));
  }
  return found;
}

/** Checks that PostgreSQL is recent, and that its settings cannot lose an acknowledged revocation. Pure. */
export function databaseFindings(settings: Readonly<Record<string, string>>): readonly Finding[] {
  const durable = ["fsync", "full_page_writes", "synchronous_commit"].map((name) =>
    check(
      settings[name] !== "off" && settings[name] !== "local",
      `PostgreSQL: ${name} is on`,
      fault(`PostgreSQL: ${name} is ${settings[name]}: acknowledged changes may be lost in a crash`),
    ),
  );
  const version = Number(settings.server_version_num ?? 0);
  return [...durable, check(version >= 150_000, "PostgreSQL is 15 or newer", fault("PostgreSQL is older than 15"))];
}

async function get(url: string): Promise<{ readonly status: number; readonly body: Json; readonly date: string | null } | undefined> {
  try {
    const response = await fetch(url, { redirect: "manual", signal: AbortSignal.timeout(5000) });
    const body: unknown = await response.json().catch(() => ({}));
    return { status: response.status, body: (body ?? {}) as Json, date: response.headers.get("date") };
  } catch {
    return undefined;
  }
}

async function observe(url: string, now: () => number): Promise<Observations> {
  const document = async (path: string): Promise<Json | undefined> => {
    const answer = await get(`${url}${path}`);
    return answer?.status === 200 ? answer.body : undefined;
  };
  const health = await get(`${url}/health`);
  const clockAhead = health?.date == null ? undefined : Date.parse(health.date) / 1000 - now();
  const [metadata, openid, jwks] = await Promise.all([
    document("/.well-known/oauth-authorization-server"),
    document("/.well-known/openid-configuration"),
    document("/.well-known/jwks.json"),
  ]);
  const keys = Array.isArray(jwks?.keys) ? (jwks.keys as Json[]) : undefined;
  return { url, health, metadata, openid, keys, forwardedIgnored: await forwardedIgnored(url), clockAhead };
}

/** Read last, so that proxy headers on these requests count as well. */
async function forwardedIgnored(url: string): Promise<number | undefined> {
  try {
    const response = await fetch(`${url}/metrics`, { redirect: "manual", signal: AbortSignal.timeout(5000) });
    const count = new RegExp(`^${FORWARDED_IGNORED} (\\d+)$`, "m").exec(await response.text())?.[1];
    return count === undefined ? undefined : Number(count);
  } catch {
    return undefined;
  }
}

async function databaseSettings(databaseUrl: string): Promise<Readonly<Record<string, string>>> {
  const { default: pg } = await import("pg");
  const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: 2000 });
  await client.connect();
  const names = "'fsync', 'full_page_writes', 'synchronous_commit', 'server_version_num'";
  const { rows } = await client.query(`select name, setting from pg_settings where name in (${names})`).finally(() => client.end());
  return Object.fromEntries(rows.map(({ name, setting }) => [name, setting]));
}

function baseAddress(value: string): string {
  if (/^https?:\/\/[^/]/.test(value) && URL.canParse(value)) return value;
  throw new InvalidArgumentError("It is not a URL: give one such as https://id.example.org.");
}

const MARKS = { good: "ok      ", warning: "warning ", fault: "FAULT   " } as const;

/** `countersign doctor URL`: checks a running service as its clients see it and, with DATABASE_URL, its database. */
export function registerDoctorCommand(program: Command, terminal: Terminal, databaseUrl: () => string | undefined): void {
  program
    .command("doctor")
    .argument("<url>", "base address of the service, as its clients use it", baseAddress)
    .description("check a running service as its clients see it, and the database at DATABASE_URL; exits with 1 at a fault")
    .action(
      running(terminal, async (url: string) => {
        const findings = [...serviceFindings(await observe(url.replace(/\/$/, ""), terminal.clock))];
        const database = databaseUrl();
        if (database !== undefined) {
          const settings = await databaseSettings(database).catch(() => undefined);
          findings.push(...(settings === undefined ? [fault("the database at DATABASE_URL does not answer")] : databaseFindings(settings)));
        }
        for (const { verdict, sentence } of findings) terminal.write(`${MARKS[verdict]}${sentence}`);
        if (findings.some(({ verdict }) => verdict === "fault")) terminal.end(1);
      }),
    );
}
