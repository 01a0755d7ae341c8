import type { HttpAnswer } from "./answer.ts";
import type { RefusalCode } from "./refusal.ts";
import { advertisedScopes } from "./scopes.ts";

/** Seconds after which a client may come back when the issuer's keys could not be fetched. */
const RETRY_AFTER_SECONDS = 5;

/** What a challenge says about the guarded operation. */
export interface ChallengeSubject {
  /** All scopes of the operation, not only the missing ones: a client asks once for what it needs. */
  readonly scopes: readonly string[];
  /** URL of the protected resource metadata document. */
  readonly metadataUrl: string;
}

/**
 * The value of `WWW-Authenticate`. Neither scope tokens nor a serialised URL can hold a quote or a backslash, so nothing
 * needs escaping.
 * @param error left out when the request carried no credentials (RFC 6750 §3.1)
 * @see RFC 6750 §3, RFC 9728 §5.1, docs/protocol.md#guard
 */
export function bearerChallenge(subject: ChallengeSubject, error?: "invalid_token" | "insufficient_scope"): string {
  const scopes = advertisedScopes(subject.scopes);
  const parameters = [
    ...(error === undefined ? [] : [`error="${error}"`]),
    ...(scopes.length === 0 ? [] : [`scope="${scopes.join(" ")}"`]),
    `resource_metadata="${subject.metadataUrl}"`,
  ];
  return `Bearer ${parameters.join(", ")}`;
}

/** The answer to a refused request. Without credentials it says what is needed and names no error. */
export function refusalAnswer(code: RefusalCode, subject: ChallengeSubject): HttpAnswer {
  switch (code) {
    case "no_credentials":
      return challengeAnswer(401, bearerChallenge(subject), "");
    case "invalid_token":
      return challengeAnswer(401, bearerChallenge(subject, code), errorBody(code));
    case "insufficient_scope":
      return challengeAnswer(403, bearerChallenge(subject, code), errorBody(code));
    case "invalid_request":
      return challengeAnswer(400, `Bearer error="${code}", resource_metadata="${subject.metadataUrl}"`, errorBody(code));
    case "temporarily_unavailable":
      return { status: 503, headers: { ...JSON_NO_STORE, "Retry-After": String(RETRY_AFTER_SECONDS) }, body: errorBody(code) };
  }
}

const JSON_NO_STORE = { "Content-Type": "application/json", "Cache-Control": "no-store" };

const errorBody = (code: RefusalCode) => JSON.stringify({ error: code });

function challengeAnswer(status: number, challenge: string, body: string): HttpAnswer {
  const headers = {
    ...(body === "" ? { "Cache-Control": "no-store" } : JSON_NO_STORE),
    "WWW-Authenticate": challenge,
    // A client in a browser can start its authorization only when it may read the challenge.
    "Access-Control-Expose-Headers": "WWW-Authenticate",
  };
  return { status, headers, body };
}
