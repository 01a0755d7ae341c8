import type { Account } from "../accounts/ports.ts";
import { assertMaySignUp, type SignUpPolicy } from "../accounts/sign-up-policy.ts";
import { isRefusal } from "../errors.ts";
import { type Connection, isTrustedFor } from "./connection.ts";
import type { LinkedUser, UpstreamIdentity } from "./ports.ts";

/** What becomes of a user whom a provider has named. */
export type Arrival =
  | ({ readonly kind: "sign_in" } & Pick<Account, "user" | "hasSecondFactor">)
  | { readonly kind: "open_account"; readonly email: string }
  /** The user has an account, and must sign in to it to link the identity. */
  | { readonly kind: "link_first" }
  | { readonly kind: "no_account" };

export interface Arriving {
  readonly identity: Pick<UpstreamIdentity, "email" | "emailVerified">;
  readonly connection: Pick<Connection, "domains">;
  readonly linked: LinkedUser | undefined;
  /** Whether the identity's address has an account. */
  readonly addressTaken: boolean;
  readonly policy: SignUpPolicy;
}

/**
 * Decides on a user whom a provider has named. Pure. An address alone never leads into an account that exists.
 * @see docs/protocol.md#upstream-sign-in
 */
export function decideArrival({ identity, connection, linked, addressTaken, policy }: Arriving): Arrival {
  if (linked?.confirmed) return { kind: "sign_in", user: linked.user, hasSecondFactor: linked.hasSecondFactor };
  const { email, emailVerified } = identity;
  if (linked || (addressTaken && emailVerified)) return { kind: "link_first" };
  const opens = email !== undefined && emailVerified && isTrustedFor(connection, email) && maySignUp(email, policy);
  return opens ? { kind: "open_account", email } : { kind: "no_account" };
}

function maySignUp(email: string, policy: SignUpPolicy): boolean {
  try {
    assertMaySignUp(email, policy);
    return true;
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return false;
  }
}
