import { AggregatorRegistry, Counter, type CounterConfiguration, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { CATALOGUE, type RefusalCode } from "../errors.ts";
import { FORWARDED_IGNORED } from "./metric-names.ts";

export type Metrics = ReturnType<typeof createMetrics>;

const SURFACES = ["token", "introspection", "revocation", "login", "session", "bearer", "api_key", "core"] as const;
export type AuthenticationSurface = (typeof SURFACES)[number];

/** Accepts well-formed words from our own source, which no list names, up to `most` of them. */
const fewWords = (most: number) => {
  const seen = new Set<string>();
  return (value: string) => {
    if (seen.has(value)) return value;
    if (seen.size >= most || !/^[a-z][a-z0-9_]{0,47}$/.test(value)) return "other";
    seen.add(value);
    return value;
  };
};

/** Counts per text and adds the sums when metrics are read: labels are the dearest part of a request after its answer. */
function tally<Label extends string>(configuration: CounterConfiguration<Label>) {
  const sums = new Map<string, { readonly values: readonly string[]; count: number }>();
  const counter: Counter<Label> = new Counter({
    ...configuration,
    collect() {
      for (const { values, count } of sums.values()) {
        const named = (configuration.labelNames ?? []).map((name, at) => [name, values[at] ?? ""]);
        counter.inc(Object.fromEntries(named) as Record<Label, string>, count);
      }
      sums.clear();
    },
  });
  return {
    counter,
    add(...values: readonly string[]): void {
      const key = values.join(" ");
      const sum = sums.get(key);
      if (sum === undefined) sums.set(key, { values, count: 1 });
      else sum.count += 1;
    },
  };
}

function seriesOf(register: Registry) {
  const registers: [Registry] = [register];
  const counter = <Label extends string = never>(name: string, help: string, ...labelNames: readonly Label[]) =>
    new Counter({ name, help, labelNames, registers });
  return {
    requests: tally({
      name: "countersign_http_requests_total",
      help: "HTTP requests answered.",
      labelNames: ["route", "method", "status"],
      registers,
    }),
    durations: new Histogram({
      name: "countersign_http_request_duration_seconds",
      help: "Time to answer an HTTP request.",
      labelNames: ["route"],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15],
      registers,
    }),
    authentications: tally({
      name: "countersign_authentications_total",
      help: "Clients, users and bearers that presented a credential.",
      labelNames: ["surface", "outcome", "reason"],
      registers,
    }),
    tokens: counter("countersign_tokens_issued_total", "Access tokens issued.", "grant"),
    refusals: counter("countersign_refusals_total", "Requests refused.", "code"),
    forwarded: counter(
      FORWARDED_IGNORED,
      "Requests with X-Forwarded-* or Forwarded headers, which are not believed while TRUST_PROXY is off.",
    ),
    backgroundRows: counter(
      "countersign_background_rows_total",
      "Rows removed in the background: expired ones, and those of disabled or deleted clients and users.",
      "work",
    ),
    backgroundFailures: counter(
      "countersign_background_failures_total",
      "Batches of background work that failed and are tried again.",
      "work",
    ),
    auditWaiting: new Gauge({
      name: "countersign_audit_stream_waiting_records",
      help: "Sealed audit records that the receiver of AUDIT_STREAM has not got yet.",
      aggregator: "max", // of workers: each one counts the same records
      registers,
    }),
    certificates: new Gauge({
      name: "countersign_certificate_expiry_timestamp_seconds",
      help: "When the first certificate of a setting expires, in seconds since 1970.",
      labelNames: ["setting"],
      aggregator: "min",
      registers,
    }),
  };
}

/**
 * Every label value comes from a fixed set: no request can add a series.
 * @param routes every route pattern that the front serves; a front adds its own when it has built them
 * @param grants every label of `tokenIssued`
 * @param textOfAll in a worker: the metrics of all workers, which their supervisor collects
 */
export function createMetrics(routes: ReadonlySet<string>, grants: readonly string[], textOfAll?: () => Promise<string>) {
  const register = new Registry();
  if (textOfAll !== undefined) contribute(register);
  processMetrics(register);
  const series = seriesOf(register);
  for (const surface of SURFACES) series.authentications.counter.inc({ surface, outcome: "success", reason: "none" }, 0);
  for (const grant of grants) series.tokens.inc({ grant }, 0);
  for (const code of Object.keys(CATALOGUE)) series.refusals.inc({ code }, 0);
  const [reason, work] = [fewWords(128), fewWords(64)];
  return {
    /**
     * @param path a pattern among those given at the start  @param method one of a fixed set
     * @param seconds from the first byte read to the last written
     */
    httpRequest(path: string, method: string, status: number, seconds: number): void {
      const route = routes.has(path) ? path : "other";
      series.requests.add(route, method, String(status));
      series.durations.observe({ route }, seconds);
    },
    /** @param why fixed word, usually a refusal's; undefined for success */
    authentication: (surface: AuthenticationSurface, outcome: "success" | "failure", why?: string): void =>
      series.authentications.add(surface, outcome, why === undefined ? "none" : reason(why)),
    /** @param grant one of those given at the start */
    tokenIssued: (grant: string): void => series.tokens.inc({ grant }),
    refusal: (code: RefusalCode): void => series.refusals.inc({ code }),
    /** A request with headers of a proxy arrived while TRUST_PROXY is off. */
    forwardedIgnored: (): void => series.forwarded.inc(),
    /** Rows removed in the background. @param name `sweep_` and a table, or `removal_` and its kind */
    backgroundRows: (name: string, rows: number): void => series.backgroundRows.inc({ work: work(name) }, rows),
    /** Sealed records that AUDIT_STREAM has not got yet. */
    auditStream: (waiting: number): void => series.auditWaiting.set(waiting),
    /** @param expiresAt when the first certificate of a setting expires, in seconds since the epoch */
    certificateExpiry: (setting: string, expiresAt: number): void => series.certificates.set({ setting }, expiresAt),
    /** A failed batch, which is retried. */
    backgroundFailure: (name: string): void => series.backgroundFailures.inc({ work: work(name) }),
    /** The Prometheus text exposition. */
    text: textOfAll ?? (() => register.metrics()),
    /** The same of this process alone, as objects. */
    series: () => register.getMetricsAsJSON(),
    contentType: register.contentType,
  };
}

/** Lets the supervisor collect a worker's metrics: the library answers its messages once an aggregator exists. */
function contribute(register: Registry): void {
  AggregatorRegistry.setRegistries(register);
  new AggregatorRegistry();
}

/** The library's metrics of the process, less those whose label values follow what happens to be open. */
function processMetrics(register: Registry): void {
  collectDefaultMetrics({ register });
  for (const name of ["nodejs_active_handles", "nodejs_active_requests", "nodejs_active_resources"]) register.removeSingleMetric(name);
  const collections = register.getSingleMetric("nodejs_gc_duration_seconds");
  if (collections instanceof Histogram) for (const kind of ["major", "minor", "incremental", "weakcb"]) collections.zero({ kind });
}
