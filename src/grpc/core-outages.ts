import { status } from "@grpc/grpc-js";
import { isRefusal, type Refusal } from "../errors.ts";
import type { Log } from "../telemetry/log.ts";
import type { AnyCall } from "./local.ts";

/** An error code, or OpenSSL's words about a certificate; the rest of the text may hold names and addresses. */
const WORDS = /\b(?:E[A-Z]{4,}|ERR_[A-Z_]+|SSL|[a-z -]*certificate[a-z ]*)\b/;

/** Milliseconds for which all calls have failed, after which a failure without such words is an outage too. After a cut it takes less. */
const PATIENCE = 3_000;

type Status = { readonly code?: unknown; readonly details?: unknown } | undefined;

const isUnanswered = ({ reason }: Refusal): boolean => reason === "core_unavailable" || reason === "core_timeout";

/** Why no core serves this front, as the error of a call shows it. Undefined for all other errors, those of a core among them. Pure. */
function outageOf(error: Refusal, failingFor: number): { readonly reason: string; readonly code?: string } | undefined {
  const { reason } = error;
  if (reason === "core_unresolved" || reason === "front_not_admitted") return { reason };
  if (!isUnanswered(error)) return undefined;
  const { code, details } = (error.detail.cause as Status) ?? {};
  const words = code === status.UNAVAILABLE ? WORDS.exec(String(details))?.[0].trim() : undefined;
  const found = words ?? (failingFor > PATIENCE ? "no_answer" : undefined);
  return found === undefined ? undefined : { reason: "core_unavailable", code: found };
}

/**
 * Logs each reason once for an outage of the core, however many calls fail, and once when a call is served again.
 * @param now milliseconds of a clock that only runs forward
 */
export function loggingOutages(
  log: Pick<Log, "info" | "warn"> | undefined,
  now: () => number = () => performance.now(),
): (call: AnyCall) => AnyCall {
  const logged = new Set<string>();
  let failingSince: number | undefined;
  const served = (): void => {
    if (logged.size > 0) log?.info("core_back");
    logged.clear();
    failingSince = undefined;
  };
  const failed = (error: unknown): void => {
    if (!isRefusal(error)) return;
    if (error.reason === "refused_by_core") served();
    if (isUnanswered(error)) failingSince ??= now();
    const outage = outageOf(error, now() - (failingSince ?? now()));
    const why = outage && `${outage.reason} ${outage.code}`;
    if (why === undefined || logged.has(why)) return;
    logged.add(why);
    log?.warn("core_away", outage);
  };
  return (call) => async (request, options) => {
    try {
      const answer = await call(request, options);
      served();
      return answer;
    } catch (error) {
      failed(error);
      throw error;
    }
  };
}
