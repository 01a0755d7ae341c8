import { DcqlPresentationResult, DcqlQuery, type DcqlSdJwtVcPresentation } from "dcql";
import type { CredentialPolicy } from "./ports.ts";

/** The one credential that is asked for, by this id in request and answer. */
export const QUERY_ID = "link";

export type AskedFor = DcqlQuery.Input;

/**
 * The question to the wallet: a credential of these types, bound to its holder, of which the claim that tells people apart is disclosed.
 * @see OpenID4VP 1.0 §6
 */
export function askedFor({ types, subjectClaim }: Pick<CredentialPolicy, "types" | "subjectClaim">): AskedFor {
  const [first = "", ...more] = types;
  const query: AskedFor = {
    credentials: [{ id: QUERY_ID, format: "dc+sd-jwt", meta: { vct_values: [first, ...more] }, claims: [{ path: [subjectClaim] }] }],
  };
  DcqlQuery.validate(DcqlQuery.parse(query));
  return query;
}

/** Whether verified claims are what was asked for. */
export function satisfies(asked: AskedFor, claims: Readonly<Record<string, unknown>>): boolean {
  const credential = {
    credential_format: "dc+sd-jwt" as const,
    vct: String(claims.vct),
    claims: claims as DcqlSdJwtVcPresentation.Model["Output"]["claims"], // they were parsed from JSON
    cryptographic_holder_binding: true,
  };
  const result = DcqlPresentationResult.fromDcqlPresentation({ [QUERY_ID]: [credential] }, { dcqlQuery: DcqlQuery.parse(asked) });
  return result.can_be_satisfied;
}
