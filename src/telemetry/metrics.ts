import { AggregatorRegistry, Counter, type CounterConfiguration, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { CATALOGUE, type RefusalCode } from "../errors.ts";
import { FORWARDED_IGNORED } from "./metric-names.ts";

/** Every label value comes from a fixed set: no request can add a series. */
export interface Metrics {
  /** @param route a pattern among those given at the start  @param seconds from the first byte read to the last written */
  httpRequest(route: string, method: string, status: number, seconds: number): void;
  /** @param reason fixed word, usually a refusal's; undefined for success */
  authentication(surface: AuthenticationSurface, outcome: "success" | "failure", reason?: string): void;
  tokenIssued(grant: string): void;
  refusal(code: RefusalCode): void;
  /** A request with headers of a proxy arrived while TRUST_PROXY is off. */
  forwardedIgnored(): void;
  /** Rows removed in the background. @param work `sweep_` and a table, or `removal_` and its kind */
  backgroundRows(work: string, rows: number): void;
  /** Sealed records that AUDIT_STREAM has not got yet. */
  auditStream(waiting: number): void;
  /** @param expiresAt when the first certificate of a setting expires, in seconds since the epoch */
  certificateExpiry(setting: string, expiresAt: number): void;
  /** A failed batch, which is retried. */
  backgroundFailure(work: string): void;
  /** The Prometheus text exposition. */
  text(): Promise<string>;
  /** The same of this process alone, as objects. */
  series(): ReturnType<Registry["getMetricsAsJSON"]>;
  readonly contentType: string;
}

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const SURFACES = ["token", "introspection", "revocation", "login", "session", "bearer", "api_key", "core"] as const;
export type AuthenticationSurface = (typeof SURFACES)[number];

/** Maps values outside a fixed list to `other`. */
const among = (known: ReadonlySet<string>) => (value: string) => (known.has(value) ? value : "other");

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

function gaugesOf(registers: [Registry]) {
  const auditWaiting = new Gauge({
    name: "countersign_audit_stream_waiting_records",
    help: "Sealed audit records that the receiver of AUDIT_STREAM has not got yet.",
    aggregator: "max", // of workers: each one counts the same records
    registers,
  });
  const certificates = new Gauge({
    name: "countersign_certificate_expiry_timestamp_seconds",
    help: "When the first certificate of a setting expires, in seconds since 1970.",
    labelNames: ["setting"],
    aggregator: "min",
    registers,
  });
  return { auditWaiting, certificates };
}

function seriesOf(register: Registry) {
  const registers: [Registry] = [register];
  const requests = tally({
    name: "countersign_http_requests_total",
    help: "HTTP requests answered.",
    labelNames: ["route", "method", "status"],
    registers,
  });
  const durations = new Histogram({
    name: "countersign_http_request_duration_seconds",
    help: "Time to answer an HTTP request.",
    labelNames: ["route"],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15],
    registers,
  });
  const authentications = tally({
    name: "countersign_authentications_total",
    help: "Clients, users and bearers that presented a credential.",
    labelNames: ["surface", "outcome", "reason"],
    registers,
  });
  const tokens = new Counter({ name: "countersign_tokens_issued_total", help: "Access tokens issued.", labelNames: ["grant"], registers });
  const refusals = new Counter({ name: "countersign_refusals_total", help: "Requests refused.", labelNames: ["code"], registers });
  const forwarded = new Counter({
    name: FORWARDED_IGNORED,
    help: "Requests with X-Forwarded-* or Forwarded headers, which are not believed while TRUST_PROXY is off.",
    registers,
  });
  const backgroundRows = new Counter({
    name: "countersign_background_rows_total",
    help: "Rows removed in the background: expired ones, and those of disabled or deleted clients and users.",
    labelNames: ["work"],
    registers,
  });
  const backgroundFailures = new Counter({
    name: "countersign_background_failures_total",
    help: "Batches of background work that failed and are tried again.",
    labelNames: ["work"],
    registers,
  });
  return { requests, durations, authentications, tokens, refusals, forwarded, backgroundRows, backgroundFailures, ...gaugesOf(registers) };
}

/**
 * @param routes every route pattern that the front serves; a front adds its own when it has built them
 * @param grants every label of `tokenIssued`
 * @param textOfAll in a worker: the metrics of all workers, which their supervisor collects
 */
export function createMetrics(routes: ReadonlySet<string>, grants: readonly string[], textOfAll?: () => Promise<string>): Metrics {
  const register = new Registry();
  if (textOfAll !== undefined) contribute(register);
  processMetrics(register);
  const series = seriesOf(register);
  const { requests, durations, authentications, tokens, refusals, forwarded, backgroundRows, backgroundFailures } = series;
  for (const surface of SURFACES) authentications.counter.inc({ surface, outcome: "success", reason: "none" }, 0);
  for (const grant of grants) tokens.inc({ grant }, 0);
  for (const code of Object.keys(CATALOGUE)) refusals.inc({ code }, 0);

  const route = among(routes);
  const method = among(new Set<string>(METHODS));
  const surface = among(new Set<string>(SURFACES));
  const grant = among(new Set(grants));
  const code = among(new Set(Object.keys(CATALOGUE)));
  const reason = fewWords(128);
  const work = fewWords(64);
  return {
    httpRequest: (path, verb, status, seconds) => {
      const known = route(path);
      requests.add(known, method(verb), status >= 100 && status <= 599 ? String(Math.trunc(status)) : "other");
      durations.observe({ route: known }, seconds);
    },
    authentication: (where, outcome, why) => authentications.add(surface(where), outcome, why === undefined ? "none" : reason(why)),
    tokenIssued: (name) => tokens.inc({ grant: grant(name) }),
    refusal: (name) => refusals.inc({ code: code(name) }),
    forwardedIgnored: () => forwarded.inc(),
    backgroundRows: (name, rows) => backgroundRows.inc({ work: work(name) }, rows),
    auditStream: (waiting) => series.auditWaiting.set(waiting),
    certificateExpiry: (setting, expiresAt) => series.certificates.set({ setting }, expiresAt),
    backgroundFailure: (name) => backgroundFailures.inc({ work: work(name) }),
    text: textOfAll ?? (() => register.metrics()),
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
