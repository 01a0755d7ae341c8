import type { Account, NewSessionRecord, User } from "../ports.ts";

/**
 * An account, and how its user proved that it is theirs. `generation` is that of a proved password.
 * @see RFC 9470 §3, RFC 8176 §2
 */
export type ProvedAccount = Pick<NewSessionRecord, "passkey" | "upstream" | "provedAt"> & {
  readonly acr: string;
  readonly amr: readonly string[];
  readonly account: Pick<Account, "user"> & Partial<Pick<Account, "generation" | "hasSecondFactor">>;
};

export type ProofOutcome<Result> =
  | { readonly kind: "proved"; readonly result: Result }
  /** `reason` is a fixed word for the audit record. `user` is undefined where the proof names no account. */
  | { readonly kind: "refused"; readonly reason: string; readonly user: User | undefined };

/** Acts on a valid proof while its attempt is reserved; undefined, as for a disabled user, counts as a failure. */
export type UseProof<Result> = (proved: ProvedAccount) => Promise<Result | undefined>;
