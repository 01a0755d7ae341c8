import type { LinkingPorts } from "../../wallet/linking.ts";
import type { PageKit } from "../pages/kit.ts";

/** What the wallet routes and pages work with: the people's kit, and linking. */
export interface WalletKit extends PageKit {
  readonly linking: LinkingPorts;
}
