import type { PublishedKey } from "../clients/key-set.ts";
import type { ParsedJws } from "../core/signing/jws.ts";
import { fittingKeys, isSignedBy } from "../core/signing/published-keys.ts";

/** By what issuers and holders may sign: what wallets are told, and what is checked. */
export const WALLET_ALGORITHMS = ["ES256", "EdDSA"] as const;
export type WalletAlgorithm = (typeof WALLET_ALGORITHMS)[number];

export const isWalletAlgorithm = (alg: unknown): alg is WalletAlgorithm => WALLET_ALGORITHMS.some((known) => known === alg);

/** Whether a signature is by this one key. */
export const isMadeBy = (jws: ParsedJws, key: PublishedKey, alg: WalletAlgorithm): boolean =>
  fittingKeys([key], alg, undefined).length === 1 && isSignedBy(jws, key, alg);
