import { CONSOLE_CLIENT_ID } from "../clients/client.ts";
import { Refusal } from "../errors.ts";
import { isAsStrong, TWO_FACTOR_ACR } from "../protocol/authentication-context.ts";
import type { Bearer, ManagementPorts } from "./ports.ts";

/** Seconds for which a proof lets a user of the console do what cannot be undone. */
const FRESH = 300;

/**
 * What the sign-in behind a token lacks for an act that cannot be undone; undefined: nothing. Pure. A browser is left open and runs scripts,
 * so the console's tokens need it. The command line asks its user before such an act.
 */
export function missingProof(
  { clientId, proofAge, acr }: Pick<Bearer, "clientId" | "proofAge" | "acr">,
  hasSecondFactor: boolean,
): { readonly acrValues?: string; readonly maxAge: number } | undefined {
  if (clientId !== CONSOLE_CLIENT_ID) return undefined;
  const isRecent = proofAge !== undefined && proofAge <= FRESH;
  const isStrong = !hasSecondFactor || (acr !== undefined && isAsStrong(acr, TWO_FACTOR_ACR));
  if (isRecent && isStrong) return undefined;
  return { ...(hasSecondFactor && { acrValues: TWO_FACTOR_ACR }), maxAge: FRESH };
}

/** @throws {Refusal} insufficient_user_authentication @see docs/protocol.md#fresh-proof */
export async function assertFreshProof(caller: Bearer, { secondFactors }: Pick<ManagementPorts, "secondFactors">): Promise<void> {
  if (caller.clientId !== CONSOLE_CLIENT_ID) return;
  const { appAddedAt } = await secondFactors.stateOf(caller.userId);
  const stepUp = missingProof(caller, appAddedAt !== null);
  if (stepUp === undefined) return;
  const description = "This needs a fresh sign-in. Confirm that it is you, then try again.";
  throw new Refusal("insufficient_user_authentication", "proof_not_fresh", { description, stepUp });
}
