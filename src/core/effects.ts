import type { AuditEntry } from "../audit.ts";
import { isRefusal, Refusal } from "../errors.ts";
import type { GrantCase } from "../protocol/grants.ts";
import { identifierHash } from "../random.ts";
import { consumeProof, DPOP_PROOF, type ProvenKey, refuseProof } from "./dpop.ts";
import { ENFORCED, isVerdict } from "./policy/rule.ts";
import type { CallContext, Core } from "./ports.ts";

/** The core with a change to every audit entry that is written with an effect. */
export function withEntries(core: Core, changed: (entry: AuditEntry) => AuditEntry): Core {
  const { codes, families, grants, delegations, identityAssertions, audit } = core;
  /** A write whose entry, which it takes last, is changed. */
  const entering =
    <Before extends readonly unknown[], Result>(write: (...given: [...Before, AuditEntry]) => Promise<Result>) =>
    async (...given: [...Before, AuditEntry]): Promise<Result> =>
      write(...(given.slice(0, -1) as unknown as Before), changed(given.at(-1) as AuditEntry));
  return {
    ...core,
    codes: { ...codes, issue: entering(codes.issue), redeem: entering(codes.redeem) },
    families: { ...families, rotate: entering(families.rotate), keep: entering(families.keep), revoke: entering(families.revoke) },
    grants: { open: entering(grants.open), revoke: entering(grants.revoke) },
    delegations: { record: entering(delegations.record) },
    identityAssertions: identityAssertions && {
      ...identityAssertions,
      assertions: { ...identityAssertions.assertions, accept: entering(identityAssertions.assertions.accept) },
    },
    audit: { ...audit, recordIssue: entering(audit.recordIssue) },
  };
}

/**
 * The core for one call: everything that the call consumes, issues or revokes carries the call's deadline into its statement, and does not
 * begin once the caller has left. Otherwise a process that was suspended could write effects that its client has already repeated.
 * @throws {Refusal} temporarily_unavailable for a call whose deadline passed while this process stood still
 */
export function inTime(core: Core, { notAfter, signal }: CallContext): Core {
  const now = core.clocks?.now();
  if (notAfter !== undefined && now !== undefined && notAfter < now)
    throw new Refusal("temporarily_unavailable", "deadline_passed", { retryAfter: 1 });
  const lastMoment = (): number | undefined => {
    if (signal?.aborted) throw new Refusal("temporarily_unavailable", "caller_gone", { retryAfter: 1 });
    if (notAfter !== undefined) return notAfter;
    const moment = core.clocks?.now();
    return moment && moment + core.effectWindow;
  };
  const { consumedIds } = core;
  return {
    ...withEntries(core, (entry) => ({ ...entry, notAfter: lastMoment() })),
    consumedIds: {
      ...consumedIds,
      consume: async (kind, issuer, id, ttl) => consumedIds.consume(kind, issuer, id, ttl, lastMoment()),
    },
  };
}

/** Grants whose effect is one statement. Others write more than one thing, so that their proof is used up before they begin. */
const ONE_STATEMENT: readonly GrantCase[] = ["authorizationCode", "refreshToken", "clientCredentials", "tokenExchange"];

/**
 * Runs the grant of a request with a checked proof, which is used up in the statement of the grant's effect: where the proof was used
 * before, nothing takes effect. A request that is refused, or revokes what it presents, uses it up first: no grant refuses after its effect.
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
    return await issue(used ? core : withProof(proven, core, useNow));
  } catch (error) {
    if (isRefusal(error) && error.reason === "dpop_proof_used")
      return ENFORCED.check({ ...DPOP_PROOF, check: () => refuseProof("dpop_proof_used") }, undefined);
    if (isVerdict(error)) await useNow();
    throw error;
  }
}

/** The core for a request with a proof. @param useNow uses the proof up by itself */
function withProof({ jkt, jti, remember }: ProvenKey, core: Core, useNow: () => Promise<void>): Core {
  const proof = { id: Buffer.from(identifierHash(jkt, jti)).toString("hex"), ttl: remember };
  const proving = withEntries(core, (entry) => ({ ...entry, proof }));
  return {
    ...proving,
    families: { ...proving.families, revoke: (...family) => useNow().then(() => core.families.revoke(...family)) },
    grants: { ...proving.grants, revoke: (...grant) => useNow().then(() => core.grants.revoke(...grant)) },
  };
}
