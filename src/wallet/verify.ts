import { createHash } from "node:crypto";
import { SDJwt } from "@sd-jwt/core";
import type { Clock } from "../clock.ts";
import { assertKeyBinding, type Expected, judgeCredential } from "./credential.ts";
import { assertDisclosuresSound } from "./disclosures.ts";
import { assertSignedByIssuer, type IssuerTrust } from "./issuer-signature.ts";
import type { CredentialPolicy, WalletIdentity } from "./ports.ts";
import { type Presentation, readPresentation } from "./presentation.ts";
import { type AskedFor, satisfies } from "./query.ts";
import { refuse } from "./refused.ts";
import { assertStillValid, type StatusLists } from "./status-list.ts";

export interface VerificationPorts {
  readonly policy: CredentialPolicy;
  readonly asked: AskedFor;
  readonly trust: IssuerTrust;
  readonly lists: StatusLists;
  readonly clock: Clock;
}

const MAX_SUBJECT = 512;

const hasher = (data: string | ArrayBuffer, alg: string): Uint8Array =>
  createHash(alg.replace("-", ""))
    .update(typeof data === "string" ? data : new Uint8Array(data))
    .digest();

/** The claims with the disclosed ones in their places. The library puts them there; that they belong there has been seen to. */
async function claimsOf({ text }: Presentation): Promise<Readonly<Record<string, unknown>>> {
  return (await SDJwt.fromEncode(text, hasher)).getClaims<Record<string, unknown>>(hasher);
}

function subjectOf(claims: Readonly<Record<string, unknown>>, name: string): string {
  const subject = claims[name];
  const fit =
    typeof subject === "string" && subject !== "" && subject.length <= MAX_SUBJECT && subject.isWellFormed() && !subject.includes("\0");
  return fit ? subject : refuse("subject_missing");
}

/**
 * Whom a presentation proves. Every check has a reason of its own, and the first that fails ends it; whoever is asked for anything (keys,
 * status lists) is asked only for what a trusted issuer is named in, and a list only for what such an issuer has signed.
 * @throws {Refusal} access_denied
 * @see OpenID4VP 1.0 §8.6 and B.3, RFC 9901 §7, SD-JWT VC §3.4
 */
export async function verifyPresentation(
  text: unknown,
  expected: Omit<Expected, "now">,
  { policy, asked, trust, lists, clock }: VerificationPorts,
): Promise<WalletIdentity> {
  const now = clock();
  const presentation = readPresentation(text);
  const { credential } = presentation;
  const { issuer, alg, kid, holderKey } = judgeCredential(credential, policy, now);
  await assertSignedByIssuer({ jwt: credential, issuer, alg, kid }, trust, now);
  assertDisclosuresSound(presentation);
  assertKeyBinding(presentation, holderKey, { ...expected, now });
  const claims = await claimsOf(presentation);
  if (!satisfies(asked, claims)) refuse("claims_missing");
  const subject = subjectOf(claims, policy.subjectClaim);
  await assertStillValid(credential.claims.status, issuer, { lists, policy: policy.status, now });
  return { issuer, subject };
}
