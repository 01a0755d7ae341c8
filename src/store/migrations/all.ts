import { accounts } from "./0001/accounts.ts";
import { functions } from "./0001/functions.ts";
import { grants } from "./0001/grants.ts";
import { records } from "./0001/records.ts";
import { triggers } from "./0001/triggers.ts";

/** The default realm, and the client to which login token sets belong. */
const rows = [
  "insert into realms (id, name) values ('00000000-0000-7000-8000-000000000001', 'default')",
  `insert into clients (id, client_id, realm_id, origin, name, redirect_uris, scopes, grant_types, response_types, token_endpoint_auth_method)
   values ('00000000-0000-7000-8000-000000000002', 'countersign', '00000000-0000-7000-8000-000000000001', 'built_in', 'Countersign',
           '{}', '{openid,profile,email}', '{refresh_token}', '{}', 'none')`,
];

/** Every migration, oldest first; plain texts, so that a start on a current schema loads no migration tooling. A released name is never reused. */
export const MIGRATIONS = [{ name: "0001_initial", statements: [...functions, ...accounts, ...grants, ...records, ...triggers, ...rows] }];

/** Where the database keeps the names of those that have run. */
export const MIGRATION_TABLE = "schema_migrations";
