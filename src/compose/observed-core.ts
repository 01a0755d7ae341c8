import { isRefusal } from "../errors.ts";
import type { TokenCore } from "../grpc/local.ts";
import { grantLabel, LOGIN_LABEL } from "../protocol/grants.ts";
import type { AuthenticationSurface, Metrics } from "../telemetry/metrics.ts";

/** Which calls authenticate somebody, and where they count. */
const SURFACES: Partial<Record<keyof TokenCore, AuthenticationSurface>> = {
  token: "token",
  introspect: "introspection",
  verifyApiKey: "introspection",
  revoke: "revocation",
  verifyAccessToken: "bearer",
};

/** Codes that say that somebody did not prove to be who they claim. */
const UNPROVEN: ReadonlySet<string> = new Set(["invalid_client", "invalid_token", "unauthenticated", "too_many_requests"]);

/** The token core, counted: who proved themselves, what was issued, what was refused. */
export function observedCore(core: TokenCore, metrics: Metrics): TokenCore {
  const counted = Object.entries(core).map(([name, call]) => {
    const surface = SURFACES[name as keyof TokenCore];
    const method = call as (request: { grant?: { case?: string } }, options?: unknown) => Promise<unknown>;
    const observed = async (request: { grant?: { case?: string } }, options?: unknown): Promise<unknown> => {
      try {
        const answer = await method(request, options);
        if (surface !== undefined) metrics.authentication(surface, "success");
        if (name === "token") metrics.tokenIssued(grantLabel(request.grant?.case));
        if (name === "loginTokens") metrics.tokenIssued(LOGIN_LABEL);
        return answer;
      } catch (error) {
        if (isRefusal(error)) {
          metrics.refusal(error.code);
          if (surface !== undefined && UNPROVEN.has(error.code)) metrics.authentication(surface, "failure", error.reason);
        }
        throw error;
      }
    };
    return [name, observed];
  });
  // Every method of the core, under its own name.
  return Object.fromEntries(counted) as TokenCore;
}
