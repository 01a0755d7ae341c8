import type { Texts } from "../../../texts/languages.ts";

export interface AccountSection {
  readonly path: string;
  readonly label: keyof Texts["accountNav"]["sections"];
  /** Whether only a server that links wallets has the page. */
  readonly forWallets?: true;
  /** The page whose foot leads here: then the navigation has that one alone. */
  readonly below?: string;
}

/** The page after a sign-in without another destination. */
export const ACCOUNT_START = "/account";
/** The value of `done` there after the first operator has opened the account. */
export const SET_UP_DONE = "set-up";
/** The page that confirms a change of address. */
export const CONFIRM_ADDRESS = "/account/security/address/confirm";

export const SECTIONS: readonly AccountSection[] = [
  { path: ACCOUNT_START, label: "profile" },
  { path: "/account/agents", label: "agents" },
  { path: "/account/security", label: "security" },
  { path: "/account/wallet", label: "wallet", forWallets: true },
  { path: "/account/delete", label: "deleteAccount", below: "/account/security" },
];

/** Pages below the sections to which a user returns after a fresh proof. */
export const PROVED_PAGES = ["/account/security/address", "/account/security/app", "/account/security/password"];
