import type { Challenge } from "./challenge.ts";

/** How a refused request is repeated: with a nonce, with a new token, with a token of more scope. */
export type Step = "prove" | "renew" | "widen";

/** The response to a request that carried a token. */
export interface Outcome {
  readonly status: number;
  readonly challenges: readonly Challenge[];
  readonly hasNonce: boolean;
  /** Whether the body can be sent again. */
  readonly isReplayable: boolean;
  /** The scopes of the token that was sent. */
  readonly scope: string | undefined;
  /** Whether the caller has fixed the scopes. */
  readonly isScopeFixed: boolean;
  /** What has been tried for this request. */
  readonly tried: ReadonlySet<Step>;
}

/**
 * What to do with the response: repeat the request in one way, or undefined to return it. Each way is tried once.
 * @see RFC 6750 §3.1, RFC 9449 §9
 */
export function nextStep({ status, challenges, hasNonce, isReplayable, scope, isScopeFixed, tried }: Outcome): Step | undefined {
  if (!isReplayable || (status !== 401 && status !== 403)) return undefined;
  const errors = challenges.map(({ parameters }) => parameters.get("error"));
  const step = ((): Step | undefined => {
    if (status === 403) {
      const isWider = errors.includes("insufficient_scope") && widened(scope, challenges) !== widened(scope, []);
      return isWider && !isScopeFixed ? "widen" : undefined;
    }
    if (errors.includes("use_dpop_nonce")) return hasNonce ? "prove" : undefined;
    const isTokenRefused = challenges.length > 0 && errors.every((error) => error === undefined || error === "invalid_token");
    return isTokenRefused ? "renew" : undefined;
  })();
  return step === undefined || tried.has(step) ? undefined : step;
}

/** Scopes with those that the challenges ask for, in a fixed order. */
export function widened(scope: string | undefined, challenges: readonly Challenge[]): string {
  const asked = challenges.map(({ parameters }) => parameters.get("scope") ?? "");
  const scopes = [scope ?? "", ...asked].flatMap((each) => each.split(" ")).filter((each) => each !== "");
  return [...new Set(scopes)].sort().join(" ");
}
