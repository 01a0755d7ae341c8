import type { LinkStatus } from "../../wallet/link-state.ts";

const CONFLICTS: Readonly<Record<string, string>> = {
  identity_of_another: "This wallet is linked to another account.",
  account_has_wallet: "The account is linked to another wallet. Unlink that one first.",
};

/** What is said about a link that came to nothing; the reason itself is for the audit record. */
export function linkMessage({ status, reason = "" }: LinkStatus): string | undefined {
  if (status === "conflict") return CONFLICTS[reason];
  if (status === "expired") return "The request has expired. Start again.";
  if (status !== "rejected") return undefined;
  return reason === "wallet_access_denied" ? "The wallet declined." : "The answer of the wallet was not accepted.";
}
