import type { RequestListener } from "node:http";
import { documentHost, namesDocument } from "../clients/find-client.ts";
import type { Config, Role } from "../config.ts";
import { isRefusal, type Refusal } from "../errors.ts";
import { type AnyCall, type TokenCore, type TokenCoreMethod, tokenCoreOf } from "../grpc/local.ts";
import { GRANTS, type GrantCase, LOGIN_LABEL } from "../protocol/grants.ts";
import type { Sql } from "../store/sql.ts";
import type { Log } from "../telemetry/log.ts";
import type { AuthenticationSurface, Metrics } from "../telemetry/metrics.ts";
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

/** Calls that authenticate a caller, and the surface under which each is counted. */
const SURFACES: Partial<Record<TokenCoreMethod, AuthenticationSurface>> = {
  token: "token",
  introspect: "introspection",
  verifyApiKey: "introspection",
  revoke: "revocation",
  verifyAccessToken: "bearer",
};

/** Codes for callers who did not prove their identity. */
const UNPROVEN: ReadonlySet<string> = new Set(["invalid_client", "invalid_token", "unauthenticated", "too_many_requests"]);

/** Routes whose refusals are logged, and the event of each. */
const LOGGED = { "/oauth/token": "token_refused", "/oauth/par": "push_refused" } as const;
type LoggedRoute = keyof typeof LOGGED;
const isLogged = (route: string): route is LoggedRoute => Object.hasOwn(LOGGED, route);

/** Milliseconds between two log lines about a flood of requests. */
const OVERLOAD_PAUSE = 10_000;

/** The members of a request that are logged or counted. */
interface ObservedRequest {
  readonly requestId?: string;
  readonly clientId?: string;
  readonly grant?: { readonly case?: GrantCase };
  readonly request?: { readonly clientId?: string };
  readonly client?: { readonly clientId?: string };
}

/** Whether a refusal followed the fetch of a client metadata document; a bad URL is refused before it. */
const isOfDocument = ({ reason }: Refusal): boolean => reason.startsWith("document_") && !reason.startsWith("document_url_");

export type RefusalLog = ReturnType<typeof refusalLog>;

/**
 * Logs the private reason of a refused token request, pushed request or client metadata document, once, in the process that knows it. A fetch that many
 * requests waited for is logged once, so that the fetch budget bounds the lines.
 */
export function refusalLog(log: Pick<Log, "info" | "warn">) {
  const logged = new WeakSet<Refusal>();
  let overloadLogged = Number.NEGATIVE_INFINITY;
  const isNew = (refusal: Refusal): boolean => !logged.has(refusal) && logged.add(refusal) !== undefined;

  const logRefused = (refusal: Refusal, route: LoggedRoute, requestId: string): void => {
    const { code, reason } = refusal;
    if (reason !== "refused_by_core" && isNew(refusal)) log.info(LOGGED[route], { route, code, reason, requestId });
  };
  /** A line for each refusal would cost more than the refusal. */
  const logOverload = (): void => {
    if (performance.now() < overloadLogged + OVERLOAD_PAUSE) return;
    overloadLogged = performance.now();
    log.warn("overloaded");
  };
  const logDocument = (refusal: Refusal, clientId: string, requestId: string): void => {
    if (!namesDocument(clientId) || !isOfDocument(refusal) || !isNew(refusal)) return;
    const { reason } = refusal;
    log.warn("client_document_refused", { reason, host: documentHost(clientId), ...(requestId !== "" && { requestId }) });
  };
  return {
    /** @param route its pattern */
    atRoute(refusal: Refusal, { route, requestId }: { readonly route: string; readonly requestId: string }): void {
      if (refusal.reason === "front_overloaded") logOverload();
      else if (isLogged(route)) logRefused(refusal, route, requestId);
    },
    byCore(refusal: Refusal, method: TokenCoreMethod, { requestId = "", clientId = "", request, client }: ObservedRequest): void {
      if (method === "token") logRefused(refusal, "/oauth/token", requestId);
      if (method === "validateAuthorization" || method === "issueCode") logDocument(refusal, request?.clientId ?? "", requestId);
      if (method === "authorizeDevice" || method === "pushAuthorization") logDocument(refusal, client?.clientId ?? "", requestId);
      if (method === "pushAuthorization") logRefused(refusal, "/oauth/par", requestId);
      if (method === "resolveClient") logDocument(refusal, clientId, "");
    },
  };
}

/** A token core that counts authentications, issued tokens and refusals, and logs refusals. */
export function observedCore(core: TokenCore, metrics: Metrics, refusals: RefusalLog): TokenCore {
  return tokenCoreOf((name): AnyCall => {
    const surface = SURFACES[name];
    const call = core[name] as AnyCall;
    return async (request, options) => {
      const observed: ObservedRequest = request;
      try {
        const answer = await call(request, options);
        if (surface !== undefined) metrics.authentication(surface, "success");
        if (name === "token" && observed.grant?.case) metrics.tokenIssued(GRANTS[observed.grant.case].label);
        if (name === "loginTokens") metrics.tokenIssued(LOGIN_LABEL);
        return answer;
      } catch (error) {
        if (isRefusal(error)) {
          refusals.byCore(error, name, observed);
          metrics.refusal(error.code);
          if (surface !== undefined && UNPROVEN.has(error.code)) metrics.authentication(surface, "failure", error.reason);
        }
        throw error;
      }
    };
  });
}
