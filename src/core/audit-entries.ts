import type { AuditEntry } from "../audit.ts";
import type { Core } from "./ports.ts";

/** The core with a change to every audit entry that is written with an effect. */
export function withEntries(core: Core, changed: (entry: AuditEntry) => AuditEntry): Core {
  const { codes, families, grants, delegations, identityAssertions, audit } = core;
  return {
    ...core,
    codes: {
      ...codes,
      issue: async (hash, binding, ttl, entry) => codes.issue(hash, binding, ttl, changed(entry)),
      redeem: async (hash, grant, family, entry) => codes.redeem(hash, grant, family, changed(entry)),
    },
    families: {
      ...families,
      rotate: async (id, from, to, ttl, entry) => families.rotate(id, from, to, ttl, changed(entry)),
      keep: async (id, current, ttl, entry) => families.keep(id, current, ttl, changed(entry)),
      revoke: async (id, entry) => families.revoke(id, changed(entry)),
    },
    grants: {
      open: async (grant, family, sessionId, entry) => grants.open(grant, family, sessionId, changed(entry)),
      revoke: async (id, entry) => grants.revoke(id, changed(entry)),
    },
    delegations: { record: async (delegation, entry) => delegations.record(delegation, changed(entry)) },
    identityAssertions: identityAssertions && {
      ...identityAssertions,
      assertions: {
        ...identityAssertions.assertions,
        accept: async (identity, grant, entry) => identityAssertions.assertions.accept(identity, grant, changed(entry)),
      },
    },
    audit: { ...audit, recordIssue: async (entry) => audit.recordIssue(changed(entry)) },
  };
}
