import { type DpopUse, type Inbound, readToken, type Scheme } from "./credentials.ts";
import type { Principal } from "./principal.ts";
import { proofVerifier } from "./proof.ts";
import { nonceJudge } from "./proof-nonces.ts";
import { GuardRefusal } from "./refusal.ts";
import type { VerifyToken } from "./verification.ts";

interface PresentationSettings {
  /** The URL of the root of this server, without its slash. */
  readonly publicRoot: string;
  readonly dpop: DpopUse;
  readonly dpopNonce: true | string | undefined;
  readonly clocks: { readonly now: () => number };
}

/** Whose request it is, and the nonce for later proofs if it replaces the one that was sent. */
export interface Presented {
  readonly principal: Principal;
  readonly dpopNonce?: string | undefined;
}

/** Verifies the tokens of requests, and that who sends a bound one has its key. @see RFC 9449 §7, docs/protocol.md#guard */
export function presentation({ publicRoot, dpop, dpopNonce, clocks }: PresentationSettings, verify: VerifyToken) {
  const verifyProof = proofVerifier(clocks.now, dpopNonce === undefined ? undefined : nonceJudge(dpopNonce));

  function assertScheme({ jkt }: Principal, scheme: Scheme): void {
    if (scheme === "Bearer" && jkt !== undefined) throw new GuardRefusal("invalid_token", "token_bound");
    if (jkt === undefined && (scheme === "DPoP" || dpop === "required")) throw new GuardRefusal("invalid_token", "token_not_bound");
  }

  return {
    /** The principal of a token that came without a proof. @throws {GuardRefusal} */
    async ofBearer(token: string): Promise<Principal> {
      const principal = await verify(token);
      assertScheme(principal, "Bearer");
      return principal;
    },
    /** The principal of a request. A proof is for a path below the public root, whatever host the request names. @throws {GuardRefusal} */
    async ofRequest(inbound: Inbound): Promise<Presented> {
      const { scheme, token } = readToken(inbound, dpop);
      const principal = await verify(token);
      assertScheme(principal, scheme);
      if (scheme === "Bearer") return { principal };
      const { dpop: proofs = [], method = "", path = "" } = inbound;
      const proven = await verifyProof({ proofs, method, url: `${publicRoot}${path}`, token });
      if (proven.jkt !== principal.jkt) throw new GuardRefusal("invalid_token", "token_bound_to_another_key");
      return { principal, dpopNonce: proven.dpopNonce };
    },
  };
}
