import { LRUCache } from "lru-cache";
import type { AuditEntry } from "../../audit.ts";
import type { Clock } from "../../clock.ts";

const REMEMBERED = 1_000;
/** Seconds. */
const PAUSE = 60;

/**
 * Records refused workloads: of those of one client or platform with one reason, the first in a minute; the next record counts the others.
 * Strangers can send any token, so what they can add to the audit log must not depend on what they send.
 */
export function workloadRefusals(record: (entry: AuditEntry) => Promise<void>, clock: Clock): (entry: AuditEntry) => Promise<void> {
  const seen = new LRUCache<string, { readonly until: number; repeats: number }>({ max: REMEMBERED });
  return async (entry) => {
    const key = `${entry.reason} ${entry.clientId ?? entry.workloadIssuer ?? ""}`;
    const earlier = seen.get(key);
    if (earlier !== undefined && clock() < earlier.until) {
      earlier.repeats += 1;
      return;
    }
    seen.set(key, { until: clock() + PAUSE, repeats: 0 });
    await record({ ...entry, ...(earlier !== undefined && earlier.repeats > 0 && { repeats: earlier.repeats }) });
  };
}
