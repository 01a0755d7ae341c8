import { z } from "zod";
import { describedIn, flag, url } from "./forms.ts";

const meta = describedIn("Storage");

export const STORAGE_SETTINGS = {
  DATABASE_URL: url(["postgres", "postgresql"])
    .optional()
    .meta(meta("PostgreSQL 15 or newer.", { unset: "an embedded database under DATA_DIR/pg", file: true })),
  REDIS_URL: url(["redis", "rediss"])
    .optional()
    .meta(
      meta("Redis for rate limits, shared caches and wake-up messages. Nothing that decides a security question lives there alone.", {
        unset: "in this process",
        file: true,
      }),
    ),
  DATA_DIR: z.string().default("./data").meta(meta("Embedded database, development keys, outbox. Created when missing, mode 0700.")),
  MIGRATE_ON_START: flag()
    .default(true)
    .meta(meta("Whether `serve` migrates the database before it listens; `countersign migrate` does it apart.")),
};
