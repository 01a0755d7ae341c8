import { createHash } from "node:crypto";
import { SDJwt } from "@sd-jwt/core";
import type { Clock } from "../clock.ts";
import { assertKeyBinding, checkCredential, type ExpectedBinding } from "./credential.ts";
import { assertDisclosuresSound } from "./disclosures.ts";
import type { CredentialPolicy, WalletIdentity } from "./ports.ts";
import { type Presentation, readPresentation, refuse } from "./presentation.ts";
import { type CredentialQuery, satisfies } from "./query.ts";
import { assertSignedByIssuer, type IssuerTrust } from "./signatures.ts";
import { assertNotRevoked, type StatusLists } from "./status-list.ts";

export interface VerificationPorts {
  readonly policy: CredentialPolicy;
  readonly query: CredentialQuery;
  readonly trust: IssuerTrust;
  readonly lists: StatusLists;
  readonly clock: Clock;
}

const MAX_SUBJECT = 512;

const hasher = (data: string | ArrayBuffer, alg: string): Uint8Array =>
  createHash(alg.replace("-", ""))
    .update(typeof data === "string" ? data : new Uint8Array(data))
    .digest();

/** The claims with the disclosed ones in their places. Callers have checked that the disclosures belong there. */
async function claimsOf({ text }: Presentation): Promise<Readonly<Record<string, unknown>>> {
  return (await SDJwt.fromEncode(text, hasher)).getClaims<Record<string, unknown>>(hasher);
}

function subjectOf(claims: Readonly<Record<string, unknown>>, name: string): string {
  const subject = claims[name];
  const acceptable =
    typeof subject === "string" && subject !== "" && subject.length <= MAX_SUBJECT && subject.isWellFormed() && !subject.includes("\0");
  return acceptable ? subject : refuse("subject_missing");
}

/**
 * Verifies a presentation. Fetches keys only for trusted issuers, and status lists only for credentials that such an issuer signed.
 * @returns the identity that the presentation proves
 * @throws {Refusal} access_denied @see OpenID4VP 1.0 §8.6 and B.3, RFC 9901 §7, SD-JWT VC §3.4
 */
export async function verifyPresentation(
  text: unknown,
  expected: Omit<ExpectedBinding, "now">,
  { policy, query, trust, lists, clock }: VerificationPorts,
): Promise<WalletIdentity> {
  const now = clock();
  const presentation = readPresentation(text);
  const { credential } = presentation;
  const { issuer, holderKey } = checkCredential(credential, policy, now);
  await assertSignedByIssuer(credential, issuer, trust, now);
  assertDisclosuresSound(presentation);
  await assertKeyBinding(presentation, holderKey, { ...expected, now });
  const claims = await claimsOf(presentation);
  if (!satisfies(query, claims)) refuse("claims_missing");
  const subject = subjectOf(claims, policy.subjectClaim);
  await assertNotRevoked(credential.claims.status, issuer, { lists, policy: policy.status, now });
  return { issuer, subject };
}
