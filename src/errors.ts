/** All error codes, each with its HTTP status, gRPC status (google.rpc.Code) and tRPC code. */
export const CATALOGUE = {
  invalid_request: { http: 400, grpc: 3, trpc: "BAD_REQUEST" }, // RFC 6749 §5.2
  invalid_client: { http: 401, grpc: 16, trpc: "UNAUTHORIZED" }, // RFC 6749 §5.2
  invalid_grant: { http: 400, grpc: 9, trpc: "BAD_REQUEST" }, // RFC 6749 §5.2
  unauthorized_client: { http: 400, grpc: 7, trpc: "FORBIDDEN" }, // RFC 6749 §5.2
  unsupported_grant_type: { http: 400, grpc: 12, trpc: "BAD_REQUEST" }, // RFC 6749 §5.2
  unsupported_response_type: { http: 400, grpc: 12, trpc: "BAD_REQUEST" }, // RFC 6749 §4.1.2.1
  invalid_scope: { http: 400, grpc: 7, trpc: "FORBIDDEN" }, // RFC 6749 §5.2
  invalid_target: { http: 400, grpc: 7, trpc: "FORBIDDEN" }, // RFC 8707 §2
  invalid_authorization_details: { http: 400, grpc: 3, trpc: "BAD_REQUEST" }, // RFC 9396 §5
  invalid_dpop_proof: { http: 400, grpc: 3, trpc: "UNAUTHORIZED" }, // RFC 9449 §5; 401 at a resource (§7.1)
  use_dpop_nonce: { http: 400, grpc: 9, trpc: "UNAUTHORIZED" }, // RFC 9449 §8; 401 at a resource (§9)
  authorization_pending: { http: 400, grpc: 9, trpc: "BAD_REQUEST" }, // RFC 8628 §3.5
  slow_down: { http: 400, grpc: 9, trpc: "BAD_REQUEST" }, // RFC 8628 §3.5
  expired_token: { http: 400, grpc: 9, trpc: "BAD_REQUEST" }, // RFC 8628 §3.5
  access_denied: { http: 403, grpc: 7, trpc: "FORBIDDEN" }, // RFC 6749 §4.1.2.1
  login_required: { http: 401, grpc: 16, trpc: "UNAUTHORIZED" }, // OIDC Core §3.1.2.6
  consent_required: { http: 403, grpc: 7, trpc: "FORBIDDEN" }, // OIDC Core §3.1.2.6
  unmet_authentication_requirements: { http: 403, grpc: 7, trpc: "FORBIDDEN" }, // OpenID Unmet Authentication Requirements, RFC 9470 §5
  interaction_required: { http: 403, grpc: 7, trpc: "FORBIDDEN" }, // OIDC Core §3.1.2.6
  request_not_supported: { http: 400, grpc: 12, trpc: "BAD_REQUEST" }, // OIDC Core §3.1.2.6
  request_uri_not_supported: { http: 400, grpc: 12, trpc: "BAD_REQUEST" }, // OIDC Core §3.1.2.6
  registration_not_supported: { http: 400, grpc: 12, trpc: "BAD_REQUEST" }, // OIDC Core §3.1.2.6
  invalid_token: { http: 401, grpc: 16, trpc: "UNAUTHORIZED" }, // RFC 6750 §3.1
  insufficient_user_authentication: { http: 401, grpc: 16, trpc: "UNAUTHORIZED" }, // RFC 9470 §3
  insufficient_scope: { http: 403, grpc: 7, trpc: "FORBIDDEN" }, // RFC 6750 §3.1
  invalid_redirect_uri: { http: 400, grpc: 3, trpc: "BAD_REQUEST" }, // RFC 7591 §3.2.2
  invalid_client_metadata: { http: 400, grpc: 3, trpc: "BAD_REQUEST" }, // RFC 7591 §3.2.2
  unauthenticated: { http: 401, grpc: 16, trpc: "UNAUTHORIZED" }, // own: wrong credentials, no session
  forbidden: { http: 403, grpc: 7, trpc: "FORBIDDEN" }, // own
  not_found: { http: 404, grpc: 5, trpc: "NOT_FOUND" }, // own
  method_not_allowed: { http: 405, grpc: 12, trpc: "METHOD_NOT_SUPPORTED" }, // own
  conflict: { http: 409, grpc: 6, trpc: "CONFLICT" }, // own
  payload_too_large: { http: 413, grpc: 8, trpc: "PAYLOAD_TOO_LARGE" }, // own
  unsupported_media_type: { http: 415, grpc: 3, trpc: "UNSUPPORTED_MEDIA_TYPE" }, // own
  too_many_requests: { http: 429, grpc: 8, trpc: "TOO_MANY_REQUESTS" }, // own, with Retry-After
  temporarily_unavailable: { http: 503, grpc: 14, trpc: "SERVICE_UNAVAILABLE" }, // RFC 6749 §4.1.2.1, with Retry-After
} as const;

export type RefusalCode = keyof typeof CATALOGUE;

/** A fault of one member of an input. The message is public and never contains a value. */
export interface Issue {
  readonly path: string;
  readonly message: string;
}

/** What a refusal may add to its code. `description` is public: fixed words, never a value from the request. */
export interface RefusalDetail {
  readonly description?: string;
  /** Seconds until a retry makes sense. */
  readonly retryAfter?: number;
  /** Scopes that would have been enough (RFC 6750 §3.1). */
  readonly scope?: string;
  /** What the sign-in has to be (RFC 9470 §3): its class, and its age in seconds. */
  readonly stepUp?: { readonly acrValues?: string; readonly maxAge: number };
  /** The nonce that a proof of possession must contain (RFC 9449 §8). */
  readonly dpopNonce?: string;
  /** Faults by the member of a JSON body. */
  readonly issues?: readonly Issue[];
  /** The name of the rule that failed; never sent. */
  readonly rule?: string;
  readonly cause?: unknown;
}

/**
 * An error response with a public `code`. `reason` is a fixed word for audit records, metrics and unit tests, and is never sent. Any other
 * error is a fault of the server: its cause is logged, and the response does not contain its text.
 */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly code: RefusalCode;
  readonly reason: string;
  readonly detail: RefusalDetail;

  constructor(code: RefusalCode, reason: string, detail: RefusalDetail = {}) {
    super(`${code}: ${reason}`, detail.cause === undefined ? undefined : { cause: detail.cause });
    this.code = code;
    this.reason = reason;
    this.detail = detail;
  }
}

/** A refusal for one member of a form or a body, in words that say what is wrong with the whole too. */
export const memberRefusal = (code: RefusalCode, reason: string, path: string, message: string): Refusal =>
  new Refusal(code, reason, { description: message, issues: [{ path, message }] });

/** @returns a function that throws a refusal of this code for a reason, with a public description if one is given */
export const refusing =
  (code: RefusalCode) =>
  (reason: string, description?: string): never => {
    throw new Refusal(code, reason, description === undefined ? {} : { description });
  };

/** The same refusal for a caller who may learn its code only. */
export const withoutDescription = ({ code, reason, detail: { description: _, ...detail } }: Refusal): Refusal =>
  new Refusal(code, reason, detail);

export const isRefusal = (error: unknown): error is Refusal => error instanceof Refusal;
