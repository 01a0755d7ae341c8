import { systemClock } from "../clock.ts";
import type { Config } from "../config.ts";
import type { Log } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";

/** Seconds before their expiry from which on certificates are reported. deploy/prometheus-rules.yml has them too. */
const NOTICE = 14 * 86_400;

/** The certificates of a process, and whether the first of each setting expires within 14 days or has expired. */
export const certificatesNow = ({ certificates }: Pick<Config, "certificates">) =>
  certificates.map(({ setting, expiresAt }) => {
    const seconds = expiresAt - systemClock();
    return { setting, expiresAt, seconds, soon: seconds < NOTICE };
  });

/** Measures when the certificates of a process expire, and warns of those that expire soon. A process reads them only at its start. */
export function reportCertificates(config: Config, metrics: Pick<Metrics, "certificateExpiry">, log: Pick<Log, "warn">): void {
  for (const { setting, expiresAt, seconds, soon } of certificatesNow(config)) {
    metrics.certificateExpiry(setting, expiresAt);
    if (soon) log.warn("certificate_expires", { setting, seconds });
  }
}
