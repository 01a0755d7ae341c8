/** Why there is no token or no response, where no server answered with an error code of its own. */
export type LocalErrorCode =
  | "credential_unavailable"
  | "dpop_unavailable"
  | "invalid_response"
  | "redirect_refused"
  | "resource_unknown"
  | "server_unreachable"
  | "sign_in_invalid"
  | "wrong_issuer"
  | "wrong_resource";

interface AgentErrorOptions extends ErrorOptions {
  readonly status?: number;
  readonly description?: string | undefined;
  readonly retryAfter?: number | undefined;
}

/**
 * An agent could not get a token, or would not use it. `code` is the error code that the authorization server answered (RFC 6749 §5.2), such as
 * `invalid_grant`, or one of {@link LocalErrorCode}. No message contains a token or a secret.
 */
export class AgentError extends Error {
  override readonly name = "AgentError";
  /** An OAuth error code, or a {@link LocalErrorCode}. */
  readonly code: LocalErrorCode | (string & {});
  /** The status of the response, if there was one. */
  readonly status: number | undefined;
  /** `error_description` of the response, if it had one. */
  readonly description: string | undefined;
  /** Seconds after which the authorization server wants to be asked again, if it said so (`Retry-After`). */
  readonly retryAfter: number | undefined;

  constructor(
    code: LocalErrorCode | (string & {}),
    message: string,
    { status, description, retryAfter, ...options }: AgentErrorOptions = {},
  ) {
    super(message, options);
    this.code = code;
    this.status = status;
    this.description = description;
    this.retryAfter = retryAfter;
  }
}
