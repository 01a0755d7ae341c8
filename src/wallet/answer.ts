import type { Form } from "../protocol/form.ts";
import { QUERY_ID } from "./query.ts";
import { refuse } from "./refused.ts";

/** What a wallet sent: a presentation, or the word that there will be none. */
export type WalletAnswer = { readonly kind: "presentation"; readonly vpToken: string } | { readonly kind: "error"; readonly error: string };

/** Errors of a wallet that audit records name; whatever else it says is `wallet_error` there. @see OpenID4VP 1.0 §8.5 */
const WALLET_ERRORS: ReadonlySet<string> = new Set(["access_denied", "invalid_request", "vp_formats_not_supported", "wallet_unavailable"]);

/**
 * Reads the form of a direct_post answer. Pure.
 * @returns undefined when it is neither a presentation nor an error
 * @see OpenID4VP 1.0 §8.2
 */
export function readAnswer(form: Form): WalletAnswer | undefined {
  const [vpToken, error] = [form.get("vp_token"), form.get("error")];
  if (vpToken !== undefined && error === undefined) return { kind: "presentation", vpToken };
  return error !== undefined && vpToken === undefined ? { kind: "error", error } : undefined;
}

/** The fixed word for a wallet's error. */
export const walletErrorReason = (error: string): string =>
  WALLET_ERRORS.has(error) ? (error === "wallet_unavailable" ? error : `wallet_${error}`) : "wallet_error";

/**
 * The one presentation that was asked for. Pure.
 * @throws {Refusal} access_denied
 * @see OpenID4VP 1.0 §8.1: an object of the query's ids, each with a list of presentations
 */
export function presentationOf(vpToken: string): unknown {
  const token = parsed(vpToken);
  const presentations = typeof token === "object" && token !== null ? (token as Record<string, unknown>)[QUERY_ID] : undefined;
  const others = typeof token === "object" && token !== null ? Object.keys(token).length - 1 : 0;
  if (!Array.isArray(presentations) || presentations.length !== 1 || others !== 0) return refuse("vp_token_malformed");
  return presentations[0];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return refuse("vp_token_malformed"); // what the parser says may quote the text
  }
}
