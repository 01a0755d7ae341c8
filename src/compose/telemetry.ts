import type { RequestListener } from "node:http";
import type { Config, Role } from "../config.ts";
import { type AnyCall, type TokenCore, tokenCoreOf } from "../grpc/local.ts";
import type { Sql } from "../store/sql.ts";
import type { Log } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { Tracing } from "../telemetry/tracing.ts";

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
  { log, closing }: { readonly log: Log; readonly closing: (() => Promise<void>)[] },
): Promise<Tracing | undefined> {
  const { endpoint, headers, attributes } = otlp;
  if (endpoint === undefined || !(otlp.metrics || otlp.traces)) return undefined;
  const { collectorOf } = await import("../telemetry/collector.ts");
  let warned = Number.NEGATIVE_INFINITY;
  const onFailure = (error: unknown) => {
    if (performance.now() - warned < WARN_EVERY) return;
    warned = performance.now();
    const status: unknown = Reflect.get(Object(error), "code"); // a word for a connection that failed, which is logged with the error
    log.warn("telemetry_not_sent", { error, ...(typeof status === "number" && { code: `status_${status}` }) });
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

/** A database whose statements are traced by their names. */
export function tracedSql(sql: Sql, tracing: Tracing | undefined): Sql {
  if (tracing === undefined) return sql;
  const traced = (inner: Pick<Sql, "query">): Pick<Sql, "query"> => ({
    query: (statement, parameters) =>
      tracing.within(statement.name, "client", { "db.system.name": "postgresql", "db.operation.name": statement.name }, () =>
        inner.query(statement, parameters),
      ),
  });
  return {
    ...traced(sql),
    transaction: (work) =>
      tracing.within("transaction", "client", { "db.system.name": "postgresql" }, () => sql.transaction((tx) => work(traced(tx)))),
  };
}

/**
 * A token core whose calls are traced by their names: part of the request that runs here, or of the front's span that came with the call.
 * @param kind `client` for a core in another process, which gets the context of the span
 */
export function tracedCore(core: TokenCore, kind: "internal" | "client", tracing: Tracing | undefined): TokenCore {
  if (tracing === undefined) return core;
  return tokenCoreOf((name): AnyCall => {
    const call = core[name] as AnyCall;
    return (request, options) =>
      tracing.within(
        `core.${name}`,
        kind,
        { "rpc.method": name },
        () => call(request, kind === "client" ? { ...options, traceparent: tracing.traceparent() } : options),
        options?.traceparent,
      );
  });
}

/** A listener whose requests are traced. @param routes patterns: only a path that is one of them is named */
export function tracedRequests(serve: RequestListener, routes: ReadonlySet<string>, tracing: Tracing | undefined): RequestListener {
  if (tracing === undefined) return serve;
  return (request, response) => {
    const path = request.url?.split("?", 1)[0] ?? "";
    tracing.request(request, response, routes.has(path) ? path : undefined, () => serve(request, response));
  };
}
