import type { Realm, Realms } from "../clients/ports.ts";
import { isUuid } from "../identifier.ts";
import { type Sql, statement } from "./sql.ts";

const columns = `id::text, name, dynamic_registration_scopes as "dynamicRegistrationScopes"`;
const BY_ID = statement("realm_by_id", `select ${columns} from realms where id = $1::uuid`);
const DEFAULT = statement("realm_default", `select ${columns} from realms where name = 'default'`);

export const realms = (sql: Pick<Sql, "query">): Realms => ({
  byId: async (id) => (isUuid(id) ? (await sql.query<Realm>(BY_ID, [id]))[0] : undefined),
  default: async () => {
    const [realm] = await sql.query<Realm>(DEFAULT, []);
    if (realm === undefined) throw new Error("the realm `default`, which the first migration makes, is missing");
    return realm;
  },
});
