import type { CorePorts } from "./ports.ts";
import type { IssuedTokens } from "./signing/issued-tokens.ts";
import type { Sign } from "./signing/signer.ts";
import type { SuccessorInput } from "./signing/successor.ts";

/** What the core's own files work with: the ports, and the two tools that it makes for itself out of them. */
export interface Core extends CorePorts {
  readonly sign: Sign;
  readonly issuedTokens: IssuedTokens;
  /** The refresh token that follows upon a given request where parallel uses must agree on it (REFRESH_TOKEN_REUSE_GRACE). */
  readonly successor: (wish: SuccessorInput) => string;
}
