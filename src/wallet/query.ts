import { DcqlPresentationResult, DcqlQuery, type DcqlSdJwtVcPresentation } from "dcql";
import { isObject } from "../clients/public-keys.ts";
import type { Form } from "../protocol/form.ts";
import type { CredentialPolicy } from "./ports.ts";
import { refuse } from "./presentation.ts";

/** The id of the one credential in the query, in request and response. */
const QUERY_ID = "link";

export type CredentialQuery = DcqlQuery.Input;

/** The query for a holder-bound credential of one of these types, with the claim that identifies the user. @see OpenID4VP 1.0 §6 */
export function credentialQuery({ types, subjectClaim }: Pick<CredentialPolicy, "types" | "subjectClaim">): CredentialQuery {
  const [first = "", ...more] = types;
  const query: CredentialQuery = {
    credentials: [{ id: QUERY_ID, format: "dc+sd-jwt", meta: { vct_values: [first, ...more] }, claims: [{ path: [subjectClaim] }] }],
  };
  DcqlQuery.validate(DcqlQuery.parse(query));
  return query;
}

export function satisfies(query: CredentialQuery, claims: Readonly<Record<string, unknown>>): boolean {
  const credential = {
    credential_format: "dc+sd-jwt" as const,
    vct: String(claims.vct),
    claims: claims as DcqlSdJwtVcPresentation.Model["Output"]["claims"], // parsed from JSON
    cryptographic_holder_binding: true,
  };
  const result = DcqlPresentationResult.fromDcqlPresentation({ [QUERY_ID]: [credential] }, { dcqlQuery: DcqlQuery.parse(query) });
  return result.can_be_satisfied;
}

export type WalletResponse =
  | { readonly kind: "presentation"; readonly vpToken: string }
  | { readonly kind: "error"; readonly error: string };

/** Errors that audit records name; all others are recorded as `wallet_error`. @see OpenID4VP 1.0 §8.5 */
const WALLET_ERRORS: ReadonlySet<string> = new Set(["access_denied", "invalid_request", "vp_formats_not_supported", "wallet_unavailable"]);

/** Reads a direct_post response. Pure. @returns undefined for anything but a presentation or an error @see OpenID4VP 1.0 §8.2 */
export function readResponse(form: Form): WalletResponse | undefined {
  const [vpToken, error] = [form.get("vp_token"), form.get("error")];
  if (vpToken !== undefined && error === undefined) return { kind: "presentation", vpToken };
  return error !== undefined && vpToken === undefined ? { kind: "error", error } : undefined;
}

export const walletErrorReason = (error: string): string =>
  WALLET_ERRORS.has(error) ? (error === "wallet_unavailable" ? error : `wallet_${error}`) : "wallet_error";

/** The only presentation for the id of the query. Pure. @throws {Refusal} access_denied @see OpenID4VP 1.0 §8.1 */
export function presentationOf(vpToken: string): unknown {
  const token = parsed(vpToken);
  const { [QUERY_ID]: presentations, ...others } = isObject(token) ? token : {};
  if (!Array.isArray(presentations) || presentations.length !== 1 || Object.keys(others).length > 0) return refuse("vp_token_malformed");
  return presentations[0];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return refuse("vp_token_malformed"); // the parser's message may quote the text
  }
}
