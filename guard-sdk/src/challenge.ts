import type { HttpAnswer } from "./answer.ts";
import type { AuthenticationDemand } from "./authentication.ts";
import type { Scheme } from "./credentials.ts";
import { PROOF_ALGORITHMS } from "./proof-key.ts";
import type { GuardRefusal, RefusalCode } from "./refusal.ts";
import { advertisedScopes } from "./scopes.ts";

/** Seconds after which a client may come back when the issuer's keys could not be fetched. */
const RETRY_AFTER_SECONDS = 5;

/** What a challenge says about the guarded operation. */
export interface ChallengeSubject {
  /** All scopes of the operation, not only the missing ones: a client asks once for what it needs. */
  readonly scopes: readonly string[];
  /** How the user must have signed in for it. */
  readonly authentication?: AuthenticationDemand | undefined;
  /** The schemes under which a token may come, the preferred first. Default: Bearer alone. */
  readonly schemes?: readonly Scheme[] | undefined;
  /** URL of the protected resource metadata document. */
  readonly metadataUrl: string;
}

type ChallengeError = "invalid_token" | "invalid_dpop_proof" | "use_dpop_nonce" | "insufficient_scope" | "insufficient_user_authentication";

/**
 * The value of `WWW-Authenticate`. Neither scope tokens, nor classes of authentication, nor a serialised URL can hold a quote or a backslash, so nothing
 * needs escaping.
 * @param error left out when the request carried no credentials (RFC 6750 §3.1)
 * @see RFC 6750 §3, RFC 9470 §3, RFC 9728 §5.1, docs/protocol.md#guard
 */
export function challenge(subject: ChallengeSubject, error?: ChallengeError, scheme: Scheme = "Bearer"): string {
  const scopes = advertisedScopes(subject.scopes);
  const { acr, maxAge } = (error === "insufficient_user_authentication" && subject.authentication) || {};
  const parameters = [
    ...(error === undefined ? [] : [`error="${error}"`]),
    ...(acr === undefined ? [] : [`acr_values="${acr.join(" ")}"`]),
    ...(maxAge === undefined ? [] : [`max_age="${maxAge}"`]),
    ...(scheme === "DPoP" ? [`algs="${PROOF_ALGORITHMS.join(" ")}"`] : []),
    ...(scopes.length === 0 ? [] : [`scope="${scopes.join(" ")}"`]),
    `resource_metadata="${subject.metadataUrl}"`,
  ];
  return `${scheme} ${parameters.join(", ")}`;
}

/** The answer to a refused request. Without credentials it says what is needed and names no error. */
export function refusalAnswer({ code, dpopNonce }: Pick<GuardRefusal, "code" | "dpopNonce">, subject: ChallengeSubject): HttpAnswer {
  const { schemes = ["Bearer"], metadataUrl } = subject;
  const challenges = (error?: ChallengeError) => schemes.map((scheme) => challenge(subject, error, scheme)).join(", ");
  switch (code) {
    case "no_credentials":
      return challengeAnswer(401, challenges(), "");
    case "invalid_token":
    case "invalid_dpop_proof":
    case "use_dpop_nonce":
    case "insufficient_user_authentication":
      return challengeAnswer(401, challenges(code), errorBody(code), dpopNonce);
    case "insufficient_scope":
      return challengeAnswer(403, challenges(code), errorBody(code));
    case "invalid_request":
      return challengeAnswer(400, `${schemes[0]} error="${code}", resource_metadata="${metadataUrl}"`, errorBody(code));
    case "temporarily_unavailable":
      return { status: 503, headers: { ...JSON_NO_STORE, "Retry-After": String(RETRY_AFTER_SECONDS) }, body: errorBody(code) };
  }
}

const JSON_NO_STORE = { "Content-Type": "application/json", "Cache-Control": "no-store" };

const errorBody = (code: RefusalCode) => JSON.stringify({ error: code });

/** The header by which a response gives the client its next nonce, readable for scripts too. @see RFC 9449 §9 */
export const nonceHeaders = (dpopNonce: string | undefined): Readonly<Record<string, string>> =>
  dpopNonce === undefined ? {} : { "DPoP-Nonce": dpopNonce, "Access-Control-Expose-Headers": "DPoP-Nonce" };

function challengeAnswer(status: number, value: string, body: string, dpopNonce?: string): HttpAnswer {
  const headers = {
    ...(body === "" ? { "Cache-Control": "no-store" } : JSON_NO_STORE),
    ...nonceHeaders(dpopNonce),
    "WWW-Authenticate": value,
    // A client in a browser can start its authorization only when it may read the challenge.
    "Access-Control-Expose-Headers": dpopNonce === undefined ? "WWW-Authenticate" : "WWW-Authenticate, DPoP-Nonce",
  };
  return { status, headers, body };
}
