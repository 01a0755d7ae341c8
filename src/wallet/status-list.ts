import { inflateSync } from "node:zlib";
import { FetchFailure, type GuardedFetch } from "../clients/guarded-fetch.ts";
import { isObject } from "../clients/public-keys.ts";
import { hasCome, isTime } from "../protocol/jws.ts";
import { readJwt, refuse } from "./presentation.ts";
import { assertSignedByIssuer, type IssuerTrust, isWalletAlgorithm } from "./signatures.ts";

const MEDIA_TYPE = "application/statuslist+jwt";
/** Bytes. A list of a million random values does not compress below 125 kB for each bit of a value. */
const MAX_BYTES = 1_048_576;
const MAX_INFLATED = 8 * 1_048_576;
const SKEW = 60;

export type StatusReference = { readonly uri: string; readonly index: number };

/** The status reference of a credential, if it has one. Pure. @throws {Refusal} access_denied for others @see Token Status List §6.2 */
function statusReference(status: unknown): StatusReference | undefined {
  if (status === undefined) return undefined;
  const list = isObject(status) ? status.status_list : undefined;
  const { uri, idx } = isObject(list) ? list : {};
  if (typeof uri !== "string" || !URL.canParse(uri) || !Number.isSafeInteger(idx) || (idx as number) < 0) return refuse("status_malformed");
  return { uri, index: idx as number };
}

/** One value of `bits` each, the first in the lowest bits. Pure. @returns undefined beyond the list @see Token Status List §4.1 */
export function statusAt(list: Uint8Array, bits: number, index: number): number | undefined {
  const perByte = 8 / bits;
  const byte = list[Math.floor(index / perByte)];
  return byte === undefined ? undefined : (byte >> ((index % perByte) * bits)) & ((1 << bits) - 1);
}

function inflate(text: string): Uint8Array {
  try {
    return inflateSync(Buffer.from(text, "base64url"), { maxOutputLength: MAX_INFLATED });
  } catch (cause) {
    return refuse("status_list_malformed", cause);
  }
}

export type StatusLists = ReturnType<typeof statusLists>;

export function statusLists(fetch: GuardedFetch, trust: IssuerTrust) {
  return {
    /**
     * The status in the issuer's list.
     * @throws {Refusal} access_denied; {FetchFailure} when the list cannot be fetched  @see Token Status List §5.1, §8.3
     */
    async statusOf({ uri, index }: StatusReference, issuer: string, now: number): Promise<number> {
      const jwt = readJwt(await fetch.text(uri, MEDIA_TYPE, MAX_BYTES), "status_list_malformed", MAX_BYTES);
      const { typ, alg } = jwt.header;
      if (typ !== "statuslist+jwt" || !isWalletAlgorithm(alg)) return refuse("status_list_malformed");
      if (jwt.claims.sub !== uri) return refuse("status_list_of_another_address");
      const { iat, nbf, exp, status_list: list } = jwt.claims;
      if (!isTime(iat)) return refuse("status_list_malformed");
      if (!hasCome(nbf, now + SKEW)) return refuse("status_list_not_yet_valid");
      if (exp !== undefined && !(typeof exp === "number" && exp > now - SKEW)) return refuse("status_list_expired");
      await assertSignedByIssuer(jwt, issuer, trust, now);
      const { bits, lst } = isObject(list) ? list : {};
      if (!(bits === 1 || bits === 2 || bits === 4 || bits === 8) || typeof lst !== "string") return refuse("status_list_malformed");
      return statusAt(inflate(lst), bits, index) ?? refuse("status_index_beyond_list");
    },
  };
}

/** Checks that the status of a credential is 0: not revoked or suspended. @throws {Refusal} access_denied @see Token Status List §7.1 */
export async function assertNotRevoked(
  status: unknown,
  issuer: string,
  { lists, policy, now }: { readonly lists: StatusLists; readonly policy: "strict" | "lenient"; readonly now: number },
): Promise<void> {
  const reference = statusReference(status);
  if (reference === undefined) return;
  const value = await lists.statusOf(reference, issuer, now).catch((cause: unknown) => {
    if (!(cause instanceof FetchFailure)) throw cause;
    return policy === "lenient" ? 0 : refuse(`status_list_${cause.reason}`, cause);
  });
  if (value !== 0) refuse(value === 2 ? "credential_suspended" : "credential_revoked");
}
