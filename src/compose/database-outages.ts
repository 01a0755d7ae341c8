import { isRefusal } from "../errors.ts";
import type { Log } from "../telemetry/log.ts";
import type { Failed } from "./periodically.ts";

/** The SQLSTATE or the system's code of the error that made the database unavailable; a connection that is only late has none. */
function codeOf(error: unknown): string | undefined {
  const cause = isRefusal(error) ? error.detail.cause : error;
  return cause instanceof Error && "code" in cause ? String(cause.code) : undefined;
}

/** Milliseconds after an outage in which work may still fail that was started during it: more than connecting and one statement may take. */
const AFTERMATH = 5_000;

/**
 * Logs once when the database does not answer or takes no writes, and once when it does again; likewise when the disk of the embedded one is
 * full. Until then, work in the background that fails by it is not logged: many kinds of it are tried again every second.
 * @param now milliseconds of a clock that only runs forward
 */
export function databaseOutages(log: Pick<Log, "info" | "warn">, now: () => number) {
  let away = false;
  let full = false;
  let backAt = Number.NEGATIVE_INFINITY;
  const failed: Failed = (error, work) => {
    const isOfOutage = away || full || now() - backAt < AFTERMATH;
    if (isOfOutage && isRefusal(error) && error.reason === "storage_unavailable") return;
    log.warn("background_work_failed", { error, ...(work !== undefined && { work }) });
  };
  return {
    failed,
    diskIsFull: () => full,
    /** @param isFull whether the embedded database refuses writes for lack of room  @param path of its directory */
    disk(isFull: boolean, path: string): void {
      full = isFull;
      if (full) log.warn("disk_full", { path });
      else log.info("disk_has_room", { path });
    },
    /** The database answers and takes writes. */
    answered(): void {
      if (!away) return;
      away = false;
      backAt = now();
      log.info("database_back");
    },
    unanswered(error: unknown): void {
      if (away || full) return; // a full disk is reported by itself
      away = true;
      const code = codeOf(error);
      log.warn("database_away", code === undefined ? {} : { code });
    },
  };
}
export type DatabaseOutages = ReturnType<typeof databaseOutages>;
