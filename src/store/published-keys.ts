import type { PublishedKey, PublishedKeys } from "../management/ports.ts";
import { LAST_SEEN } from "./key-register.ts";
import { type Sql, seconds, statement } from "./sql.ts";

interface KeyColumns {
  readonly kid: string;
  readonly jwk: Readonly<Record<string, unknown>>;
  readonly published_at: number;
  readonly in_use_at: number | null;
  readonly state: PublishedKey["state"];
}

/** Seconds in which a core that signs marks its keys more than once. */
const MARKED = 90;

const ALL = statement(
  "published_keys_with_state",
  `select kid, jwk, ${seconds("published_at")} as published_at, ${seconds("in_use_at")} as in_use_at,
     case when in_use_at > now() - make_interval(secs => ${MARKED}) then 'signing'
       when ${LAST_SEEN} > now() - make_interval(secs => $1::int) then 'published' else 'withdrawn' end as state
   from signing_keys order by signing_keys.published_at desc, kid`,
);

/** @param retention seconds for which a key is served after a core last had it (keyRegister) */
export const publishedKeys = (sql: Sql, retention: number): PublishedKeys => ({
  all: async () =>
    (await sql.query<KeyColumns>(ALL, [retention])).map((row) => ({
      kid: row.kid,
      jwk: row.jwk,
      publishedAt: row.published_at,
      inUseAt: row.in_use_at,
      state: row.state,
    })),
});
