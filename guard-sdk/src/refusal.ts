/** Error codes of RFC 6750 §3.1, RFC 9449 §7.1 and RFC 9470 §3, and two cases that have no code on the wire. */
export type RefusalCode =
  | "no_credentials"
  | "invalid_request"
  | "invalid_token"
  | "invalid_dpop_proof"
  | "use_dpop_nonce"
  | "insufficient_scope"
  | "insufficient_user_authentication"
  | "temporarily_unavailable";

/**
 * A refusal by the guard. `code` decides the response; `reason` is a fixed word such as `token_expired` for the log of the resource
 * server and goes on no wire.
 */
export class GuardRefusal extends Error {
  override readonly name = "GuardRefusal";
  readonly code: RefusalCode;
  readonly reason: string;
  /** The nonce that the client shall put into its proof. */
  readonly dpopNonce: string | undefined;

  constructor(code: RefusalCode, reason: string, { dpopNonce, ...options }: ErrorOptions & { readonly dpopNonce?: string } = {}) {
    super(`${code}: ${reason}`, options);
    this.code = code;
    this.reason = reason;
    this.dpopNonce = dpopNonce;
  }
}
