import { type Client, type Demands, demandsOf } from "../clients/client.ts";
import { asPublicKeySet, isAssertionAlgorithm, type RemoteKeys } from "../clients/public-keys.ts";
import { assertSignedByRemoteKeys, verifySignature } from "../clients/published-keys.ts";
import { refusing } from "../errors.ts";
import { hasCome, hasForbiddenMember, isTime, type ParsedJwt, parseJws, parseObject, soleAudience } from "../protocol/jws.ts";
import type { CorePorts } from "./ports.ts";
import { MAX_WORKLOAD_TOKEN, SVID_ASSERTION_TYPE, type WorkloadToken, workloadToken } from "./workload/rules.ts";

const CLIENT_ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/** Characters of an assertion that a client makes itself. */
const MAX_ASSERTION_LENGTH = 8_192;

/** Seconds. */
const MAX_AHEAD = 3_600;
const SKEW = 60;

/** Excludes access tokens, ID tokens and DPoP proofs. Most assertions have no type. */
const ASSERTION_TYPES = /^(?:application\/)?(?:jwt|client-authentication\+jwt)$/i;

const refuse = refusing("invalid_client");

/** A well-formed assertion with an unverified signature, and the client that it names. */
export type Assertion = ParsedJwt & { readonly clientId: string };

/** Whether a platform made the assertion, and not the client itself: platforms name themselves by a URL, and workloads by another name. */
const isOfPlatform = ({ iss, sub }: ParsedJwt["claims"]): boolean => typeof iss === "string" && /^https?:\/\//.test(iss) && iss !== sub;

/**
 * The audiences that CLIENT_ASSERTION_AUDIENCE accepts, the issuer first.
 * @see rfc7523bis §4: only the issuer; `compat` also accepts the endpoints, as in RFC 7523 and RFC 9126 §2
 */
export const assertionAudiences = (issuer: string, mode: "strict" | "compat"): readonly string[] =>
  mode === "strict" ? [issuer] : [issuer, `${issuer}/oauth/token`, `${issuer}/oauth/par`];

/**
 * Reads an assertion of a client, or of the platform on which it runs. Pure. Its header may name a key id, but never a key or an address.
 * @throws {Refusal} invalid_client
 * @see RFC 7523 §3, docs/protocol.md#client-authentication, docs/protocol.md#workloads
 */
export function readAssertion(type: string, text: string): Assertion | WorkloadToken {
  const isSvid = type === SVID_ASSERTION_TYPE;
  if (type !== CLIENT_ASSERTION_TYPE && !isSvid)
    refuse("assertion_type_unknown", `client_assertion_type must be ${CLIENT_ASSERTION_TYPE} or ${SVID_ASSERTION_TYPE}.`);
  const parsed = parseJws(text, MAX_WORKLOAD_TOKEN);
  if (parsed === undefined) return refuse("assertion_malformed");
  if (hasForbiddenMember(parsed)) refuse("assertion_brings_its_key");
  const { alg, kid, typ } = parsed.header;
  if (!isAssertionAlgorithm(alg)) return refuse("assertion_algorithm_not_accepted");
  if (kid !== undefined && typeof kid !== "string") return refuse("assertion_malformed");
  const claims = parseObject(parsed.payload);
  if (claims !== undefined && (isSvid || isOfPlatform(claims))) return workloadToken({ ...parsed, claims }, isSvid ? "svid" : "jwt");
  if (typ !== undefined && !(typeof typ === "string" && ASSERTION_TYPES.test(typ))) refuse("assertion_of_another_kind");
  if (claims === undefined || text.length > MAX_ASSERTION_LENGTH) return refuse("assertion_malformed");
  const { iss, sub } = claims;
  if (typeof sub !== "string" || sub === "" || iss !== sub) return refuse("assertion_subject_not_issuer");
  return { ...parsed, claims, clientId: sub };
}

/**
 * Checks audience and times of an assertion. Pure.
 * @param audiences the issuer first  @param now seconds since the epoch
 * @returns `jti`, which may be used once, and the seconds for which it must be remembered
 * @throws {Refusal} invalid_client
 */
function checkClaims(
  { claims }: ParsedJwt,
  { issuerAudience }: Pick<Demands, "issuerAudience">,
  audiences: readonly string[],
  now: number,
): { jti: string; remember: number } {
  const { aud, exp, iat, nbf, jti } = claims;
  const audience = issuerAudience ? aud : soleAudience(aud);
  const accepted = issuerAudience ? audiences.slice(0, 1) : audiences;
  if (typeof audience !== "string" || !accepted.includes(audience)) refuse("assertion_for_another_audience");
  if (!isTime(exp)) return refuse("assertion_without_expiry");
  if (exp <= now - SKEW) refuse("assertion_expired");
  if (exp > now + MAX_AHEAD + SKEW) refuse("assertion_lives_too_long");
  if (!hasCome(iat, now + SKEW) || !hasCome(nbf, now + SKEW)) refuse("assertion_not_yet_valid");
  if (typeof jti !== "string" || jti === "") return refuse("assertion_without_id");
  return { jti, remember: exp + SKEW - now };
}

/** Verifies the signature by one of the keys that the client registered or publishes. @throws {Refusal} invalid_client, temporarily_unavailable */
async function assertSigned(assertion: Assertion, client: Client, keys: RemoteKeys): Promise<void> {
  if (client.jwks === null) {
    const source = client.jwksUri ?? refuse("client_without_keys");
    return assertSignedByRemoteKeys(assertion, { source, keys }, "invalid_client", "keys");
  }
  const verdict = await verifySignature(assertion, asPublicKeySet(client.jwks) ?? []);
  if (verdict !== "valid") refuse(verdict);
}

export type AssertionPorts = Pick<CorePorts, "assertionAudiences" | "remoteKeys" | "documentKeys" | "clock"> & {
  readonly consumedIds: Pick<CorePorts["consumedIds"], "consume">;
};

/**
 * Authenticates a client by its assertion. The `jti` is consumed last, so that only the client can use up its own identifiers.
 * @throws {Refusal} invalid_client; temporarily_unavailable when the store cannot record the `jti`
 * @see RFC 7523 §3, OIDC Core §9, docs/protocol.md#client-authentication
 */
export async function authenticateByAssertion(assertion: Assertion, client: Client, ports: AssertionPorts): Promise<void> {
  const { jti, remember } = checkClaims(assertion, demandsOf(client), ports.assertionAudiences, ports.clock());
  await assertSigned(assertion, client, client.origin === "metadata_document" ? ports.documentKeys : ports.remoteKeys);
  if (!(await ports.consumedIds.consume("client_assertion", client.clientId, jti, remember))) refuse("assertion_used_before");
}
