import { isRefusal } from "../errors.ts";
import type { GrantCase } from "../protocol/grants.ts";
import { identifierHash } from "../random.ts";
import { withEntries } from "./audit-entries.ts";
import { consumeProof, DPOP_PROOF, type ProvenKey, refuseProof } from "./dpop.ts";
import { ENFORCED, isVerdict } from "./policy/rule.ts";
import type { Core } from "./ports.ts";

/** Grants whose effect is one statement. Others write more than one thing, so that their proof is used up before they begin. */
const ONE_STATEMENT: readonly GrantCase[] = ["authorizationCode", "refreshToken", "clientCredentials", "tokenExchange"];

/**
 * Runs the grant of a request with a checked proof, which is used up in the statement of the grant's effect: where the proof was used
 * before, nothing takes effect. A request that is refused, or revokes what it presents, uses it up first.
 * @throws {Refusal} invalid_dpop_proof for a proof that was used before, whatever else is wrong with the request
 */
export async function usingProof<Answer>(
  proven: ProvenKey,
  grant: GrantCase,
  core: Core,
  issue: (core: Core) => Promise<Answer>,
): Promise<Answer> {
  let used = false;
  const useNow = async (): Promise<void> => {
    if (used) return;
    used = true;
    await ENFORCED.settle(DPOP_PROOF, consumeProof(proven, core));
  };
  if (!ONE_STATEMENT.includes(grant)) await useNow();
  try {
    return await issue(used ? core : withProof(proven, core, useNow, () => (used = true)));
  } catch (error) {
    if (isRefusal(error) && error.reason === "dpop_proof_used")
      return ENFORCED.check({ ...DPOP_PROOF, check: () => refuseProof("dpop_proof_used") }, undefined);
    if (isVerdict(error)) await useNow();
    throw error;
  }
}

/** The core for a request with a proof. @param useNow uses the proof up by itself  @param usedUp notes that an effect has done so */
function withProof({ jkt, jti, remember }: ProvenKey, core: Core, useNow: () => Promise<void>, usedUp: () => true): Core {
  const proof = { id: Buffer.from(identifierHash(jkt, jti)).toString("hex"), ttl: remember };
  const { codes, families, delegations, audit } = withEntries(core, (entry) => ({ ...entry, proof }));
  const noted = async (stored: Promise<boolean>): Promise<boolean> => (await stored) && usedUp();
  return {
    ...core,
    codes: { ...core.codes, redeem: (...code) => noted(codes.redeem(...code)) },
    families: {
      ...core.families,
      rotate: (...token) => noted(families.rotate(...token)),
      keep: (...token) => noted(families.keep(...token)),
      revoke: (...family) => useNow().then(() => core.families.revoke(...family)),
    },
    grants: { ...core.grants, revoke: (...grant) => useNow().then(() => core.grants.revoke(...grant)) },
    delegations: { record: (...exchange) => noted(delegations.record(...exchange)) },
    audit: { ...core.audit, recordIssue: (entry) => audit.recordIssue(entry).then(() => void usedUp()) },
  };
}
