import type { Config, Role } from "../config.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { Tracing } from "../telemetry/tracing.ts";
import type { Surroundings } from "./core.ts";

/** Milliseconds between two warnings that the collector takes nothing. */
const WARN_EVERY = 60_000;

/**
 * Starts sending metrics and traces of this process to a collector. Nothing is loaded or wrapped without OTEL_EXPORTER_OTLP_ENDPOINT.
 * @returns undefined when nothing is traced
 */
export async function exporting(
  { otlp, issuer, trustProxy }: Config,
  role: Role,
  metrics: Metrics,
  { log, closing }: Pick<Surroundings, "log" | "closing">,
): Promise<Tracing | undefined> {
  const { endpoint, headers, attributes } = otlp;
  if (endpoint === undefined || !(otlp.metrics || otlp.traces)) return undefined;
  const { collectorOf } = await import("../telemetry/collector.ts");
  let warned = Number.NEGATIVE_INFINITY;
  const onFailure = (error: unknown) => {
    if (performance.now() - warned < WARN_EVERY) return;
    warned = performance.now();
    log.warn("telemetry_not_sent", { error });
  };
  const collector = collectorOf({ endpoint, headers, attributes, role, issuer, onFailure });
  if (otlp.metrics) {
    const { exportMetrics } = await import("../telemetry/otlp-metrics.ts");
    closing.push(exportMetrics(collector, metrics, otlp.metricsEvery));
  }
  if (!otlp.traces) return undefined;
  const { startTracing } = await import("../telemetry/tracing.ts");
  const tracing = startTracing({ collector, ratio: otlp.ratio, continues: trustProxy });
  closing.push(() => tracing.close());
  return tracing;
}
