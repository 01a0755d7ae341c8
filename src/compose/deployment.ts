import type { IncomingMessage } from "node:http";
import { MAIL_ADDRESS_LIMIT, MAILBOX_LIMIT } from "../accounts/caller.ts";
import type { Rate } from "../accounts/ports.ts";
import { FAILURES } from "../clients/throttle.ts";
import { milliseconds, systemClock } from "../clock.ts";
import type { SettingName } from "../config/settings.ts";
import type { Config } from "../config.ts";
import { clientAddress, hasForwardedHeaders } from "../front/http/caller.ts";
import { PENDING_RATE } from "../front/oauth/authorize.ts";
import { DEVICE_RATE, PUSH_RATE } from "../front/oauth/client-requests.ts";
import type { Deployment, ShownSettings } from "../management/report-ports.ts";
import { isLoopbackHost } from "../protocol/access.ts";
import { durabilitySettings } from "../store/availability.ts";
import { postponedMails } from "../store/outbox.ts";
import type { Sql } from "../store/sql.ts";
import type { Log } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { type Failed, periodically } from "./periodically.ts";

const A_DAY = 86_400;
/** Seconds before their expiry from which on certificates are reported. deploy/prometheus-rules.yml has them too. */
const NOTICE = 14 * A_DAY;

/** The certificates of a process, and whether the first of each setting expires within 14 days or has expired. */
const certificatesNow = ({ certificates }: Pick<Config, "certificates">) =>
  certificates.map(({ setting, expiresAt }) => {
    const seconds = expiresAt - systemClock();
    return { setting, expiresAt, seconds, soon: seconds < NOTICE };
  });

/**
 * Measures when the certificates of a process expire, and warns of those that expire soon, now and each day. A process reads them only at its
 * start, and may run for months.
 * @returns a function that ends it
 */
export function reportingCertificates(
  config: Pick<Config, "certificates">,
  metrics: Pick<Metrics, "certificateExpiry">,
  log: Pick<Log, "warn">,
  failed: Failed,
): () => Promise<void> {
  const warn = (): void => {
    for (const { setting, seconds, soon } of certificatesNow(config)) if (soon) log.warn("certificate_expires", { setting, seconds });
  };
  for (const { setting, expiresAt } of config.certificates) metrics.certificateExpiry(setting, expiresAt);
  warn();
  return periodically(A_DAY, async () => warn(), failed);
}

/**
 * Names of settings that are right for a trial and wrong in production, or that contradict what requests show. Pure.
 * @see docs/doctor.md
 */
export function unsafeSettings({ environment, issuer, signUp, mail, redis, database, callers }: Omit<Deployment, "unsafe">) {
  const { protocol, hostname } = new URL(issuer);
  const inProduction = {
    JWT_ISSUER: protocol !== "https:" && !isLoopbackHost(hostname),
    SIGN_UP: signUp === "open",
    SMTP_URL: mail === "files",
    DATABASE_URL: database.kind === "embedded",
    REDIS_URL: !redis,
  };
  const unsafe = { ...(environment === "production" && inProduction), TRUST_PROXY: callers.proxyHeadersIgnored > 0 };
  return Object.entries(unsafe).flatMap(([name, is]) => (is ? [name] : []));
}

export type CallerWatch = ReturnType<typeof watchCallers>;

/** Notices what suggests a wrong TRUST_PROXY: proxy headers that are ignored, and one address for all callers. */
export function watchCallers(trustProxy: boolean, metrics: Pick<Metrics, "forwardedIgnored">, log: Pick<Log, "warn">) {
  let ignored = 0;
  let requests = 0;
  let first: string | undefined;
  let several = false;
  return {
    see(request: IncomingMessage): void {
      requests += 1;
      if (!trustProxy && hasForwardedHeaders(request)) {
        metrics.forwardedIgnored();
        if (ignored === 0) log.warn("forwarded_headers_ignored", { setting: "TRUST_PROXY" });
        ignored += 1;
      }
      if (several) return;
      const address = clientAddress(request, trustProxy);
      first ??= address;
      several = address !== first;
    },
    seen: (): Deployment["callers"] => ({ requests, oneAddress: !several, proxyHeadersIgnored: ignored }),
  };
}

/** How this process is configured, for `countersign doctor` and the console. */
export const deploymentOf = (config: Config, sql: Sql, callers: CallerWatch) => async (): Promise<Deployment> => {
  const [settings, postponed] = await Promise.all([durabilitySettings(sql), postponedMails(sql)]);
  const deployment = {
    issuer: config.issuer,
    environment: config.environment,
    signUp: config.signUp.policy.mode,
    trustProxy: config.trustProxy,
    callers: callers.seen(),
    mail: config.mail.smtpUrl === undefined ? "files" : "smtp",
    postponedMails: postponed,
    redis: config.redisUrl !== undefined,
    certificates: certificatesNow(config).map(({ setting, expiresAt, soon }) => ({ setting, expiresAt: milliseconds(expiresAt), soon })),
    database: { kind: config.databaseUrl === undefined ? "embedded" : "postgresql", settings },
  } as const;
  return { ...deployment, unsafe: unsafeSettings(deployment) };
};

const limit = (name: string, { points: requests, seconds }: Rate, ...settings: SettingName[]) => ({ name, requests, seconds, settings });

/** The settings of this process and its limits by address, mailbox or client, for operators to read. */
export const settingsOf = ({ shown, registration, signUp }: Pick<Config, "shown" | "registration" | "signUp">): ShownSettings => ({
  settings: shown,
  limits: [
    limit("authorization requests", PENDING_RATE),
    limit("pushed requests", PUSH_RATE),
    limit("device requests", DEVICE_RATE),
    limit("failed client authentications", FAILURES),
    limit("registrations of clients", registration.rate, "REGISTER_CLIENT_RATE_LIMIT", "REGISTER_CLIENT_RATE_WINDOW"),
    limit("accounts that are opened", signUp.rate, "SIGN_UP_RATE_LIMIT", "SIGN_UP_RATE_WINDOW"),
    limit("mails to one mailbox", MAILBOX_LIMIT),
    limit("mails by one address", MAIL_ADDRESS_LIMIT),
  ],
});
