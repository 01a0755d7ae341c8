import type { IncomingMessage } from "node:http";
import type { Config } from "../config.ts";
import { clientAddress, hasForwardedHeaders } from "../front/http/address.ts";
import type { Deployment } from "../management/ports.ts";
import { durabilitySettings } from "../store/durability.ts";
import type { Sql } from "../store/sql.ts";
import type { Log } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";

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

/** How this process is configured, for `countersign doctor`.. */
export const deploymentOf = (config: Config, sql: Sql, callers: CallerWatch) => async (): Promise<Deployment> => ({
  issuer: config.issuer,
  environment: config.environment,
  signUp: config.signUp.policy.mode,
  trustProxy: config.trustProxy,
  callers: callers.seen(),
  mail: config.mail.smtpUrl === undefined ? "files" : "smtp",
  redis: config.redisUrl !== undefined,
  database: { kind: config.databaseUrl === undefined ? "embedded" : "postgresql", settings: await durabilitySettings(sql) },
});
