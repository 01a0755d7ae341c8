import type { MessageInitShape } from "@bufbuild/protobuf";
import { Refusal } from "../errors.ts";
import type { ClientCredentialSchema } from "../gen/countersign/token/v1/token_pb.ts";
import { hashSecret, sameHash } from "../secret.ts";

export type PresentedCredential = MessageInitShape<typeof ClientCredentialSchema>;

const BASIC = /^basic +([A-Za-z0-9+/]+={0,2})$/i;
const CONTROL = /\p{Cc}/u;

const formDecode = (text: string): string => decodeURIComponent(text.replaceAll("+", " "));

/**
 * The client credential of a resource server, from the `authorization` of its call.
 * @param authorization every value that was sent  @param address of the peer
 * @throws {Refusal} invalid_client when there is none, more than one, or one that is not well-formed Basic
 * @see RFC 7617, RFC 6749 §2.3.1 (both halves are form-encoded), contract "Interfaces"
 */
export function resourceServerCredential(authorization: readonly string[], address: string): PresentedCredential {
  const [value, ...more] = authorization;
  if (value === undefined) throw new Refusal("invalid_client", "credential_missing", { description: "authorization: Basic is required" });
  if (more.length > 0) throw new Refusal("invalid_client", "several_credentials");
  const encoded = BASIC.exec(value)?.[1];
  if (encoded === undefined) throw new Refusal("invalid_client", "credential_not_basic");
  return { basic: decodeBasic(encoded), address };
}

function decodeBasic(encoded: string): { clientId: string; clientSecret: string } {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.from(encoded, "base64"));
    const colon = text.indexOf(":");
    const clientId = formDecode(text.slice(0, Math.max(colon, 0)));
    const clientSecret = formDecode(text.slice(colon + 1));
    if (clientId !== "" && !CONTROL.test(clientId + clientSecret)) return { clientId, clientSecret };
  } catch {
    // invalid UTF-8 or percent-encoding: the same answer as any other malformed credential
  }
  throw new Refusal("invalid_client", "basic_malformed");
}

/** How a front proves itself to the core. With neither, the core is on loopback, and only calls without any credential are let in. */
export interface FrontAccess {
  readonly secret?: string | undefined;
  /** Whether a verified client certificate is enough. */
  readonly mutualTls: boolean;
}

/**
 * Whether a call may use TokenCoreService. A resource server's credential is never enough, nor is it ever harmless company.
 * @param certified whether the connection showed a certificate of the configured authority
 */
export function frontGate({ secret, mutualTls }: FrontAccess): (authorization: readonly string[], certified: boolean) => boolean {
  const expected = secret === undefined ? undefined : hashSecret(`Bearer ${secret}`);
  return (authorization, certified) => {
    if (authorization.length > 0)
      return authorization.length === 1 && expected !== undefined && sameHash(hashSecret(`${authorization[0]}`), expected);
    return mutualTls ? certified : expected === undefined;
  };
}
