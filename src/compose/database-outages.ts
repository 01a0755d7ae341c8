import { isRefusal } from "../errors.ts";
import type { Log } from "../telemetry/log.ts";
import type { Failed } from "./periodically.ts";

/** The SQLSTATE or the system's code of the error that made the database unavailable; a connection that is only late has none. */
function codeOf(error: unknown): string | undefined {
  const cause = isRefusal(error) ? error.detail.cause : error;
  return cause instanceof Error && "code" in cause ? String(cause.code) : undefined;
}

/**
 * Logs once when the database does not answer and once when it does again; likewise when the disk of the embedded one is full. Until then,
 * work in the background that fails by it is not logged: many kinds of it are tried again every second.
 */
export function databaseOutages(log: Pick<Log, "info" | "warn">) {
  let away = false;
  let full = false;
  const failed: Failed = (error, work) => {
    if ((away || full) && isRefusal(error) && error.reason === "storage_unavailable") return;
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
    answered(): void {
      if (away) log.info("database_back");
      away = false;
    },
    unanswered(error: unknown): void {
      if (away) return;
      away = true;
      const code = codeOf(error);
      log.warn("database_away", code === undefined ? {} : { code });
    },
  };
}
export type DatabaseOutages = ReturnType<typeof databaseOutages>;
