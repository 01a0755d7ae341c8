import type { Sql } from "../../src/store/sql.ts";
import { runText } from "./database.ts";
import type { Scene } from "./grants.ts";

/** Rows per insert statement: few enough to finish within the statement timeout. */
const AT_ONCE = 2_000;

/** Grants of a scene's user and client, each with a refresh family of unknown tokens. */
export async function manyGrants(sql: Sql, { userId, clientId }: Pick<Scene, "userId" | "clientId">, count: number): Promise<void> {
  for (let done = 0; done < count; done += AT_ONCE) {
    await runText(
      sql,
      `with opened as (
         insert into grants (id, client_id, user_id, scopes, audience, auth_time, user_epoch, client_epoch)
         select gen_random_uuid(), $2, $1::uuid, '{crm:read}', '{}', now(), (select epoch from users where id = $1::uuid),
           coalesce((select epoch from clients where client_id = $2), 0) from generate_series(1, $3::int) returning id)
       insert into refresh_families (id, grant_id, current_hash, expires_at, ends_at)
       select gen_random_uuid(), id, sha256(uuid_send(id)), now() + interval '1 hour', now() + interval '1 day' from opened`,
      [userId, clientId, Math.min(AT_ONCE, count - done)],
    );
  }
}
