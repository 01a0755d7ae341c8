import type { Realm, Realms } from "../clients/ports.ts";
import { isUuid } from "../identifier.ts";
import { coalesceReads } from "./coalesce.ts";
import { type Sql, statement } from "./sql.ts";

const columns = `id::text, name, dynamic_registration_scopes as "dynamicRegistrationScopes"`;
const BY_ID = statement("realm_by_id", `select ${columns} from realms where id = $1::uuid`);
const DEFAULT = statement("realm_default", `select ${columns} from realms where name = 'default'`);

export function realms(sql: Pick<Sql, "query">): Realms {
  const load = coalesceReads(async () => new Map((await sql.query<Realm>(DEFAULT, [])).map((realm) => [realm.name, realm])), String);
  return {
    byId: async (id) => (isUuid(id) ? (await sql.query<Realm>(BY_ID, [id]))[0] : undefined),
    default: async () => {
      const realm = await load("default");
      if (realm === undefined) throw new Error("the realm `default`, which the first migration makes, is missing");
      return realm;
    },
  };
}
