import type { Realm } from "../clients/ports.ts";
import { isUuid } from "../identifier.ts";
import type { ManagedRealms } from "../management/ports.ts";
import { auditRow, entriesIn, insertAudit } from "./audit-rows.ts";
import { jsonRows, type Sql, statement } from "./sql.ts";

interface RealmColumns {
  readonly id: string;
  readonly name: string;
  readonly dynamic_registration_scopes: readonly string[] | null;
}

const realmOf = (row: RealmColumns): Realm => ({
  id: row.id,
  name: row.name,
  dynamicRegistrationScopes: row.dynamic_registration_scopes,
});

const COLUMNS = "id::text, name, dynamic_registration_scopes";
const ALL = statement("realms_all", `select ${COLUMNS} from realms order by realms.id`);
const SET_SCOPES = statement(
  "realm_set_registration_scopes",
  `with changed as (
     update realms set dynamic_registration_scopes =
       $2::text[]
     where id = $1::uuid returning *),
   logged as (${insertAudit(`changed, ${entriesIn("$3")}`)})
   select ${COLUMNS} from changed`,
);

export const managedRealms = (sql: Sql): ManagedRealms => ({
  all: async () => (await sql.query<RealmColumns>(ALL, [])).map(realmOf),

  setRegistrationScopes: async (id, scopes, audit) => {
    if (!isUuid(id)) return undefined;
    const [row] = await sql.query<RealmColumns>(SET_SCOPES, [id, scopes, jsonRows([auditRow(audit)])]);
    return row === undefined ? undefined : realmOf(row);
  },
});
