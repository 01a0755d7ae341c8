import type { Client } from "../clients/client.ts";
import { FetchFailure } from "../clients/guarded-fetch.ts";
import { asPublicKeySet, type PublishedKey } from "../clients/key-set.ts";
import type { RemoteKeys } from "../clients/ports.ts";
import { type AssertionAlgorithm, isAssertionAlgorithm } from "../clients/signature-algorithms.ts";
import type { Clock } from "../clock.ts";
import { Refusal } from "../errors.ts";
import type { CorePorts } from "./ports.ts";
import { hasForbiddenMember, type ParsedJwt, parseJws, parseObject } from "./signing/jws.ts";
import { fittingKeys, isSignedBy } from "./signing/published-keys.ts";

export const CLIENT_ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/** Seconds. */
const MAX_AHEAD = 3_600;
const SKEW = 60;

/** An access token, an ID token of another kind or a DPoP proof must not pass for an assertion; to have no type at all is usual. */
const ASSERTION_TYPES = /^(?:application\/)?(?:jwt|client-authentication\+jwt)$/i;

const refuse = (reason: string): never => {
  throw new Refusal("invalid_client", reason);
};

/** An assertion whose form is good. Who signed it is not known yet. */
export interface Assertion extends ParsedJwt {
  readonly alg: AssertionAlgorithm;
  readonly kid: string | undefined;
  /** The client that it names, and that must turn out to have signed it. */
  readonly clientId: string;
}

/**
 * What CLIENT_ASSERTION_AUDIENCE stands for.
 * @see rfc7523bis §4: the issuer and nothing else; `compat` also takes the token endpoint, as RFC 7523 had it
 */
export const assertionAudiences = (issuer: string, mode: "strict" | "compat"): readonly string[] =>
  mode === "strict" ? [issuer] : [issuer, `${issuer}/oauth/token`];

/**
 * Reads an assertion. Pure. No key material and no address of any comes out of it: its header may name a key of the client's, no more.
 * @throws {Refusal} invalid_client
 * @see RFC 7523 §3, specification §4.7 private_key_jwt
 */
export function readAssertion(type: string, text: string): Assertion {
  if (type !== CLIENT_ASSERTION_TYPE) refuse("assertion_type_unknown");
  const parsed = parseJws(text);
  if (parsed === undefined) return refuse("assertion_malformed");
  if (hasForbiddenMember(parsed)) refuse("assertion_brings_its_key");
  const { alg, kid, typ } = parsed.header;
  if (!isAssertionAlgorithm(alg)) return refuse("assertion_algorithm_not_accepted");
  if (kid !== undefined && typeof kid !== "string") return refuse("assertion_malformed");
  if (typ !== undefined && !(typeof typ === "string" && ASSERTION_TYPES.test(typ))) refuse("assertion_of_another_kind");
  const claims = parseObject(parsed.payload);
  if (claims === undefined) return refuse("assertion_malformed");
  const { iss, sub } = claims;
  if (typeof sub !== "string" || sub === "" || iss !== sub) return refuse("assertion_subject_not_issuer");
  return { ...parsed, claims, alg, kid, clientId: sub };
}

const isTime = (value: unknown): value is number => Number.isSafeInteger(value);

/**
 * Whether the assertion is for us and for now. Pure.
 * @param now seconds since the epoch
 * @returns the identifier that may be used once, and the seconds for which it has to be remembered
 * @throws {Refusal} invalid_client
 */
export function judgeClaims({ claims }: ParsedJwt, audiences: readonly string[], now: number): { jti: string; remember: number } {
  const { aud, exp, iat, nbf, jti } = claims;
  const audience = Array.isArray(aud) && aud.length === 1 ? aud[0] : aud;
  if (typeof audience !== "string" || !audiences.includes(audience)) refuse("assertion_for_another_audience");
  if (!isTime(exp)) return refuse("assertion_without_expiry");
  if (exp <= now - SKEW) refuse("assertion_expired");
  if (exp > now + MAX_AHEAD + SKEW) refuse("assertion_lives_too_long");
  for (const since of [iat, nbf]) {
    if (since !== undefined && !(isTime(since) && since <= now + SKEW)) refuse("assertion_not_yet_valid");
  }
  if (typeof jti !== "string" || jti === "") return refuse("assertion_without_id");
  return { jti, remember: exp + SKEW - now };
}

/**
 * Whether one of the client's own keys signed it: those that it registered or published, and no others.
 * @throws {Refusal} invalid_client
 */
async function assertSigned(assertion: Assertion, client: Client, remoteKeys: RemoteKeys): Promise<void> {
  const { alg, kid } = assertion;
  const choose = (keys: readonly PublishedKey[]) => fittingKeys(keys, alg, kid);
  let candidates: readonly PublishedKey[];
  if (client.jwks !== null) candidates = choose(asPublicKeySet(client.jwks) ?? []);
  else if (client.jwksUri !== null) {
    candidates = choose(await reached(remoteKeys.at(client.jwksUri)));
    // The key may be newer than what we remember of the set.
    if (candidates.length === 0) candidates = choose(await reached(remoteKeys.renewed(client.jwksUri)));
  } else return refuse("client_without_keys");
  const [key, ...others] = candidates;
  if (key === undefined) return refuse("key_unknown");
  if (others.length > 0) refuse("key_ambiguous");
  if (!isSignedBy(assertion, key, alg)) refuse("signature_wrong");
}

const reached = (keys: Promise<readonly PublishedKey[]>): Promise<readonly PublishedKey[]> =>
  keys.catch((cause: unknown) => {
    throw cause instanceof FetchFailure ? new Refusal("invalid_client", `keys_${cause.reason}`, { cause }) : cause;
  });

export interface AssertionPorts extends Pick<CorePorts, "assertionAudiences" | "remoteKeys"> {
  readonly clock: Clock;
  readonly consumedIds: Pick<CorePorts["consumedIds"], "consume">;
}

/** All that proves an assertion but its first use. @throws {Refusal} invalid_client */
export async function judgeAssertion(assertion: Assertion, client: Client, ports: Omit<AssertionPorts, "consumedIds">) {
  const judged = judgeClaims(assertion, ports.assertionAudiences, ports.clock());
  await assertSigned(assertion, client, ports.remoteKeys);
  return judged;
}

/**
 * Proves that the client itself made this assertion, for us, now and for the first time. Its identifier is used up last, so that nobody
 * else can use up a client's identifiers; where that cannot be recorded, nothing is proven.
 * @throws {Refusal} invalid_client; temporarily_unavailable when the store cannot say
 * @see RFC 7523 §3, OpenID Connect Core §9, specification §4.7
 */
export async function proveByAssertion(assertion: Assertion, client: Client, ports: AssertionPorts): Promise<void> {
  const { jti, remember } = await judgeAssertion(assertion, client, ports);
  if (!(await ports.consumedIds.consume("client_assertion", client.clientId, jti, remember))) refuse("assertion_used_before");
}
