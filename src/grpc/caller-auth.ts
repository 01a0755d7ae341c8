import type { MessageInitShape } from "@bufbuild/protobuf";
import { Refusal } from "../errors.ts";
import type { ClientCredentialSchema } from "../gen/countersign/token/v1/token_pb.ts";
import { formOf, parseClientCredential } from "../protocol/form.ts";
import { hashSecret, sameHash } from "../random.ts";

export type PresentedCredential = MessageInitShape<typeof ClientCredentialSchema>;

/** Over gRPC a credential travels only in the metadata. */
const NO_FORM = formOf(new Map());

/**
 * The client credential of a resource server.
 * @param authorization every value sent  @param address of the peer
 * @throws {Refusal} invalid_client when there is none, more than one, or one that is not well-formed Basic
 * @see RFC 7617, RFC 6749 §2.3.1 (both halves are form-encoded)
 */
export function resourceServerCredential(authorization: readonly string[], address: string): PresentedCredential {
  const [value, ...more] = authorization;
  if (value === undefined)
    throw new Refusal("invalid_client", "credential_missing", { description: "Authorization by HTTP Basic is required." });
  if (more.length > 0) throw new Refusal("invalid_client", "several_credentials");
  return parseClientCredential(value, NO_FORM, address);
}

/** How a front authenticates to the core. With nothing, the core is on loopback and admits only calls without any credential. */
export type FrontAccess = {
  readonly secret?: string | undefined;
  readonly previousSecret?: string | undefined;
  readonly mutualTls: boolean;
};

/**
 * Whether a call may use TokenCoreService. A resource server's credential is never enough, nor may it accompany one that is.
 * @param certified whether the connection has a certificate of the configured authority
 */
export function frontGate({
  secret,
  previousSecret,
  mutualTls,
}: FrontAccess): (authorization: readonly string[], certified: boolean) => boolean {
  const accepted = [secret, previousSecret].flatMap((one) => (one === undefined ? [] : [hashSecret(`Bearer ${one}`)]));
  return (authorization, certified) => {
    const [presented, ...more] = authorization;
    if (presented === undefined) return mutualTls ? certified : accepted.length === 0;
    const hash = hashSecret(presented);
    return more.length === 0 && accepted.some((one) => sameHash(hash, one));
  };
}
