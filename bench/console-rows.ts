import { openDatabase } from "../src/store/orm.ts";
import { type Sql, statement } from "../src/store/sql.ts";
import type { Storage } from "./storage.ts";

/** What the console shows: clients in a list, and delegations of one agent, each for another user. */
export const CLIENTS = 1_000;
export const DELEGATIONS = 5_000;
/** The agent's id, which names its screen. */
export const AGENT = "00000000-0000-7000-8000-00000000a9e7";
export const OPERATOR = { email: "operator@bench.test", password: "correct horse battery staple" };

const REALM = "(select id from realms order by id limit 1)";
const COLUMNS =
  "id, client_id, realm_id, origin, name, redirect_uris, scopes, grant_types, response_types, token_endpoint_auth_method, is_agent, max_agent_mode";

/** In this order. */
const FILLS: readonly (readonly [string, number])[] = [
  [
    `insert into clients (${COLUMNS}) select gen_random_uuid(), 'listed-' || n, ${REALM}, 'operator', 'Client ' || n,
       array['https://app-' || n || '.example/callback'], '{openid}', '{authorization_code}', '{code}', 'none', false, null from generate_series(1, $1::int) as n`,
    CLIENTS,
  ],
  [
    `insert into clients (${COLUMNS}) select '${AGENT}', 'agent', ${REALM}, 'operator', 'Agent', '{}', '{notes:read}', '{client_credentials}', '{}',
       'client_secret_basic', true, 'exec' where $1::int > 0`,
    DELEGATIONS,
  ],
  [
    `insert into users (id, realm_id, email, email_key, role, email_verified)
       select gen_random_uuid(), ${REALM}, 'user-' || n || '@bench.test', 'user-' || n || '@bench.test', 'user', true from generate_series(1, $1::int) as n`,
    DELEGATIONS,
  ],
  [
    `insert into grants (id, client_id, user_id, scopes, audience, auth_time, user_epoch)
       select gen_random_uuid(), 'listed-1', id, '{notes:read}', '{}', now(), epoch from users where role = 'user' limit $1::int`,
    DELEGATIONS,
  ],
  [
    `insert into delegations (id, kind, jti, parent_jti, grant_id, user_id, path, actor, scopes, audience, expires_at)
       select id, 'access_token', 'd-' || id, 'root', id, user_id, array[id], 'agent', '{notes:read}', '{}', now() + interval '1 hour'
       from grants where client_id = 'listed-1' limit $1::int`,
    DELEGATIONS,
  ],
];

/** Fills a storage before a server uses it. */
export async function fillConsole({ env }: Storage): Promise<void> {
  const database = await openDatabase(env.DATABASE_URL === undefined ? { dir: env.DATA_DIR ?? "" } : { url: env.DATABASE_URL });
  try {
    for (const [at, [text, count]] of FILLS.entries()) await fill(database.sql, `bench_console_${at}`, text, count);
  } finally {
    await database.close();
  }
}

const fill = (sql: Sql, name: string, text: string, count: number) => sql.query(statement(name, text), [count]);
