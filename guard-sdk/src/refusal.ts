/** Error codes of RFC 6750 §3.1, and two cases that have no code on the wire. */
export type RefusalCode = "no_credentials" | "invalid_request" | "invalid_token" | "insufficient_scope" | "temporarily_unavailable";

/**
 * A refusal by the guard. `code` decides the response; `reason` is a fixed word such as `token_expired` for the log of the resource
 * server and goes on no wire.
 */
export class GuardRefusal extends Error {
  override readonly name = "GuardRefusal";
  readonly code: RefusalCode;
  readonly reason: string;

  constructor(code: RefusalCode, reason: string, options?: ErrorOptions) {
    super(`${code}: ${reason}`, options);
    this.code = code;
    this.reason = reason;
  }
}
