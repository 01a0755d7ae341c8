import { type HrTime, ValueType } from "@opentelemetry/api";
import { type ExportResult, globalErrorHandler, hrTime } from "@opentelemetry/core";
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http";
import {
  AggregationTemporality,
  type DataPoint,
  DataPointType,
  type Histogram,
  type MetricData,
  PeriodicExportingMetricReader,
  type ResourceMetrics,
} from "@opentelemetry/sdk-metrics";
import { atMost, type Collector } from "./collector.ts";
import type { Metrics } from "./metrics.ts";

type Series = Awaited<ReturnType<Metrics["series"]>>[number];
type Labels = Readonly<Record<string, string | number>>;
/** A sample of a histogram says by `metricName` whether it is a bucket, the sum or the number. */
type Sample = Series["values"][number] & { readonly metricName?: string };

/** A histogram's samples, gathered by their labels. */
interface Gathered {
  readonly labels: Labels;
  readonly boundaries: number[];
  /** Of all observations up to the boundary, as Prometheus counts them. */
  readonly upTo: number[];
  sum: number;
  count: number;
}

function gather(name: string, samples: readonly Sample[]): Iterable<Gathered> {
  const found = new Map<string, Gathered>();
  for (const { metricName, labels, value } of samples) {
    const { le, ...others } = labels as Labels;
    const key = JSON.stringify(others);
    const entry = found.get(key) ?? { labels: others, boundaries: [], upTo: [], sum: 0, count: 0 };
    found.set(key, entry);
    if (metricName === `${name}_sum`) entry.sum = value;
    else if (metricName === `${name}_count`) entry.count = value;
    else {
      entry.upTo.push(value);
      if (le !== "+Inf") entry.boundaries.push(Number(le));
    }
  }
  return found.values();
}

const histogramOf = ({ boundaries, upTo, sum, count }: Gathered): Histogram => ({
  buckets: { boundaries, counts: upTo.map((value, at) => value - (upTo[at - 1] ?? 0)) },
  sum,
  count,
});

/** The metrics of the library for Prometheus as OpenTelemetry has them, under the same names. Pure. @param since when the counters were 0 */
export function metricData(series: readonly Series[], since: HrTime, now: HrTime): MetricData[] {
  const point = <Value>(attributes: Labels, value: Value): DataPoint<Value> => ({ startTime: since, endTime: now, attributes, value });
  return series.map((metric): MetricData => {
    const { name, help, values } = metric;
    const common = {
      descriptor: { name, description: help, unit: name.includes("_seconds") ? "s" : "", valueType: ValueType.DOUBLE },
      aggregationTemporality: AggregationTemporality.CUMULATIVE,
    };
    // The library declares its types as an enum of numbers, and has words.
    const type = String(metric.type);
    if (type === "histogram") {
      const dataPoints = [...gather(name, values)].map((entry) => point(entry.labels, histogramOf(entry)));
      return { ...common, dataPointType: DataPointType.HISTOGRAM, dataPoints };
    }
    const dataPoints = values.map(({ labels, value }) => point(labels as Labels, value));
    return type === "counter"
      ? { ...common, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints }
      : { ...common, dataPointType: DataPointType.GAUGE, dataPoints };
  });
}

/** The reader passes on that an export failed, and neither why nor that it took too long. */
class ExplainedExporter extends OTLPMetricExporter {
  override export(items: ResourceMetrics, done: (result: ExportResult) => void): void {
    super.export(items, (result) => {
      if (result.error !== undefined) globalErrorHandler(result.error);
      done(result);
    });
  }
}

/**
 * Sends the metrics of this process to an OpenTelemetry collector (OTLP over HTTP). Loaded only where an endpoint is configured.
 * @param every milliseconds
 * @returns sends them for the last time, and stops
 */
export function exportMetrics(collector: Collector, metrics: Pick<Metrics, "series">, every: number): () => Promise<void> {
  const since = hrTime();
  const reader = new PeriodicExportingMetricReader({
    exporter: new ExplainedExporter(collector.at("/v1/metrics")),
    exportIntervalMillis: every,
  });
  const scope = { name: "countersign" };
  reader.setMetricProducer({
    async collect() {
      const scopeMetrics = [{ scope, metrics: metricData(await metrics.series(), since, hrTime()) }];
      return { resourceMetrics: { resource: collector.resource, scopeMetrics }, errors: [] };
    },
  });
  return () => atMost(reader.shutdown());
}
