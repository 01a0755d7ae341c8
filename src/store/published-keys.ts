import type { PublishedKeys } from "../management/ports.ts";
import { type Sql, seconds, statement } from "./sql.ts";

interface KeyColumns {
  readonly kid: string;
  readonly jwk: Readonly<Record<string, unknown>>;
  readonly published_at: number;
  readonly in_use_at: number | null;
}

const ALL = statement(
  "published_keys_all",
  `select kid, jwk, ${seconds("published_at")} as published_at, ${seconds("in_use_at")} as in_use_at
   from signing_keys order by signing_keys.published_at desc, kid`,
);

export const publishedKeys = (sql: Sql): PublishedKeys => ({
  all: async () =>
    (await sql.query<KeyColumns>(ALL, [])).map((row) => ({
      kid: row.kid,
      jwk: row.jwk,
      publishedAt: row.published_at,
      inUseAt: row.in_use_at,
    })),
});
