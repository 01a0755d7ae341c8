import type { Caller } from "../caller.ts";
import type { Account, User } from "../ports.ts";

/**
 * An account, and how its user proved that it is theirs. `generation` is that of a proved password, `passkey` the id of a proved passkey.
 * @see RFC 9470 §3, RFC 8176 §2
 */
export type ProvedAccount = {
  readonly acr: string;
  readonly amr: readonly string[];
  readonly passkey?: string;
  readonly account: Pick<Account, "user"> & Partial<Pick<Account, "generation" | "hasSecondFactor">>;
};

export type ProofOutcome<Result> =
  | { readonly kind: "proved"; readonly result: Result }
  /** `reason` is a fixed word for the audit record. `user` is undefined where the proof names no account. */
  | { readonly kind: "refused"; readonly reason: string; readonly user: User | undefined };

/** One way in which users prove who they are, such as a password. */
export interface Authenticator<Proof> {
  /** Names the authenticator in audit records of the sessions that it starts. */
  readonly name: string;
  /** The error description of every refusal, whatever its reason. */
  readonly refusal: string;
  /**
   * Verifies a proof, within the failure budgets of its account and of the caller's address.
   * @param use acts on a valid proof while the attempt is reserved; undefined (as for a disabled user) counts as a failure
   * @throws {Refusal} too_many_requests, temporarily_unavailable
   */
  verify<Result>(proof: Proof, caller: Caller, use: (proved: ProvedAccount) => Promise<Result | undefined>): Promise<ProofOutcome<Result>>;
}
