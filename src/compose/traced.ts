import type { RequestListener } from "node:http";
import { type AnyCall, type TokenCore, tokenCoreOf } from "../grpc/local.ts";
import type { Sql } from "../store/sql.ts";
import type { Tracing } from "../telemetry/tracing.ts";

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
