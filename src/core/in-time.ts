import type { AuditEntry } from "../audit.ts";
import { Refusal } from "../errors.ts";
import { withEntries } from "./audit-entries.ts";
import type { CallContext, Core } from "./ports.ts";

/**
 * The core for one call: everything that the call consumes, issues or revokes carries the call's deadline into its statement, and does not
 * begin once the caller has left. Otherwise a process that was suspended could write effects that its client has already repeated.
 * @throws {Refusal} temporarily_unavailable for a call whose deadline passed while this process stood still
 */
export function inTime(core: Core, { notAfter, signal }: CallContext): Core {
  const now = core.databaseNow?.();
  if (notAfter !== undefined && now !== undefined && notAfter < now)
    throw new Refusal("temporarily_unavailable", "deadline_passed", { retryAfter: 1 });
  const lastMoment = (): number | undefined => {
    if (signal?.aborted) throw new Refusal("temporarily_unavailable", "caller_gone", { retryAfter: 1 });
    if (notAfter !== undefined) return notAfter;
    const moment = core.databaseNow?.();
    return moment && moment + core.effectWindow;
  };
  const dated = (audit: AuditEntry): AuditEntry => {
    const latest = lastMoment();
    return latest === undefined ? audit : { ...audit, notAfter: latest };
  };
  const { consumedIds } = core;
  return {
    ...withEntries(core, dated),
    consumedIds: {
      ...consumedIds,
      consume: async (kind, issuer, id, ttl) => consumedIds.consume(kind, issuer, id, ttl, lastMoment()),
    },
  };
}
