import type { AuditEntry } from "../audit.ts";
import { Refusal } from "../errors.ts";
import type { CallContext, Core } from "./ports.ts";

export type DatabaseClock = ReturnType<typeof databaseClock>;

/**
 * The database's clock, as a process knows it between two readings.
 * @param read the database's clock, in seconds since the epoch  @param process milliseconds since the epoch
 * @param elapsed milliseconds of a clock that never steps, so that a wrong or stepping clock of this process changes nothing
 */
export function databaseClock(read: () => Promise<number>, process: () => number, elapsed: () => number) {
  let last: { readonly read: number; readonly at: number } | undefined;
  return {
    /** Seconds since the epoch with their fraction, never ahead of the database; undefined until it was read once. */
    now: (): number | undefined => last && last.read + (elapsed() - last.at) / 1_000,
    /** Reads the clock. @returns seconds by which the database is ahead of this process */
    async measure(): Promise<number> {
      const before = process();
      const found = await read();
      const middle = (before + process()) / 2_000;
      // As if the answer had taken no time to arrive: this clock is behind the database's, never ahead.
      last = { read: found, at: elapsed() };
      return found - middle;
    },
  };
}

/** Seconds between process and database above which nothing is issued. */
const MAX_OFFSET = 30;
/** Seconds above which the operator is warned. */
const WARN_OFFSET = 5;

export type ClockWatch = ReturnType<typeof clockWatch>;

/**
 * Compares the process's clock, which sets the expiry of tokens, with the database's, which decides whether they have expired.
 * @param offset seconds by which the database is ahead
 */
export function clockWatch(offset: () => Promise<number>, warn: (seconds: number) => void) {
  let apart = 0;
  return {
    /** Measures the offset. Never throws: an unreachable database is reported elsewhere. */
    async look(): Promise<void> {
      const measured = await offset().catch(() => undefined);
      if (measured === undefined) return;
      apart = Math.abs(measured);
      if (apart > WARN_OFFSET) warn(Math.round(measured));
    },
    /** Whether the clocks are close enough to each other to issue anything. */
    isTrue: (): boolean => apart <= MAX_OFFSET,
    /** @throws {Refusal} temporarily_unavailable while the clocks are too far apart to issue anything */
    assertTrue(): void {
      if (apart > MAX_OFFSET) throw new Refusal("temporarily_unavailable", "clock_too_far_off", { retryAfter: 30 });
    },
  };
}

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
  const { codes, families, grants, delegations, identityAssertions, consumedIds, audit } = core;
  return {
    ...core,
    codes: {
      ...codes,
      issue: async (hash, binding, ttl, entry) => codes.issue(hash, binding, ttl, dated(entry)),
      redeem: async (hash, grant, family, entry) => codes.redeem(hash, grant, family, dated(entry)),
    },
    families: {
      ...families,
      rotate: async (id, from, to, ttl, entry) => families.rotate(id, from, to, ttl, dated(entry)),
      revoke: async (id, entry) => families.revoke(id, dated(entry)),
    },
    grants: {
      open: async (grant, family, sessionId, entry) => grants.open(grant, family, sessionId, dated(entry)),
      revoke: async (id, entry) => grants.revoke(id, dated(entry)),
    },
    delegations: { record: async (delegation, entry) => delegations.record(delegation, dated(entry)) },
    identityAssertions: identityAssertions && {
      ...identityAssertions,
      assertions: {
        ...identityAssertions.assertions,
        accept: async (identity, grant, entry) => identityAssertions.assertions.accept(identity, grant, dated(entry)),
      },
    },
    consumedIds: {
      ...consumedIds,
      consume: async (kind, issuer, id, ttl) => consumedIds.consume(kind, issuer, id, ttl, lastMoment()),
    },
    audit: { ...audit, recordIssue: async (entry) => audit.recordIssue(dated(entry)) },
  };
}
