import { status } from "@grpc/grpc-js";
import { isRefusal } from "../errors.ts";
import type { Log } from "../telemetry/log.ts";
import type { AnyCall } from "./local.ts";

/** An error code, or OpenSSL's words about a certificate; the rest of the text may hold names and addresses. */
const WORDS = /\b(?:E[A-Z]{4,}|ERR_[A-Z_]+|SSL|[a-z -]*certificate[a-z ]*)\b/;

/** Milliseconds for which all calls have failed, after which a failure without such words is an outage too. After a cut it takes less. */
const PATIENCE = 3_000;

type Status = { readonly code?: unknown; readonly details?: unknown } | undefined;

/** Why no core serves this front, as the error of a call shows it. Undefined for all other errors, those of a core among them. Pure. */
function outageOf(error: unknown, failingFor: number): { readonly reason: string; readonly code?: string } | undefined {
  if (!isRefusal(error)) return undefined;
  const { reason } = error;
  if (reason === "core_unresolved" || reason === "front_not_admitted") return { reason };
  const { code, details } = (error.detail.cause as Status) ?? {};
  if (reason !== "core_unavailable" || code !== status.UNAVAILABLE) return undefined;
  const words = WORDS.exec(String(details))?.[0].trim() ?? (failingFor > PATIENCE ? "no_answer" : undefined);
  return words === undefined ? undefined : { reason, code: words };
}

/** Logs once for each outage of the core, however many calls fail, or again for another reason, and once when a call is served again. */
export function loggingOutages(log: Pick<Log, "info" | "warn"> | undefined): (call: AnyCall) => AnyCall {
  let latest: string | undefined;
  let failingSince: number | undefined;
  return (call) => async (request, options) => {
    try {
      const answer = await call(request, options);
      if (latest !== undefined) log?.info("core_back");
      latest = undefined;
      failingSince = undefined;
      return answer;
    } catch (error) {
      failingSince ??= performance.now();
      const outage = outageOf(error, performance.now() - failingSince);
      const why = outage && `${outage.reason} ${outage.code}`;
      if (outage !== undefined && why !== latest) {
        latest = why;
        log?.warn("core_away", outage);
      }
      throw error;
    }
  };
}
