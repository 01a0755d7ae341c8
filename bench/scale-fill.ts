import pg from "pg";

/** How much a filled database holds. The rest is in proportion: see `TABLES`. */
export interface Size {
  readonly users: number;
  readonly clients: number;
  readonly families: number;
  readonly auditRecords: number;
}

/** 1,000,000 users, 200,000 clients, 5,000,000 refresh families (8,000,000 used tokens) and 10,000,000 audit records at `families` = 5,000,000. */
export const sizeOf = (families: number): Size => ({
  users: Math.ceil(families / 5),
  clients: Math.ceil(families / 25),
  families,
  auditRecords: families * 2,
});

type Table = { readonly table: string; readonly rows: (size: Size) => number; readonly insert: (size: Size) => string };

/** A UUIDv7 with the timestamp `n`, so that ids of one kind sort by their numbers. */
const uuidOf = (n: string, kind: number): string => `(lpad(to_hex(${n}), 12, '0') || '7000800000000000000${kind}')::uuid`;
const REALM = "'00000000-0000-7000-8000-000000000001'::uuid";
const SERIES = "generate_series($1::int, $2::int) as n";

/** Of the row with number n: five rows in turn have one user, and clients that are spread over all. */
const userOf = ({ users }: Size): string => uuidOf(`((n - 1) / 5 % ${users} + 1)`, 1);
const clientOf = ({ clients }: Size): string => `'client-' || (n * 7919::bigint % ${clients} + 1)`;
const families = ({ families: count }: Size): number => count;

/** Ids begin with the time, as those of the service do; the records are spread over 30 days and sealed. */
const auditRecords = (size: Size): string =>
  `with made as (
     select encode(substring(int8send((extract(epoch from at) * 1000)::bigint) from 3) || '\\x7000'::bytea || '\\x8000'::bytea || int4send(n) || '\\x0000'::bytea, 'hex')::uuid as id, at, n
     from (select n, now() - interval '30 days' + n * (interval '30 days' / ${size.auditRecords}::float8) as at from ${SERIES}) as rows),
   linked as (insert into audit_links (id, seq, hash) select id, n, sha256(int4send(n)) from made)
   insert into audit_records (id, at, event, outcome, reason, actor_type, actor_id, user_id, client_id, grant_type, jti, grant_id, request_id)
   select id, at, (array['token.issued','token.issued','token.issued','code.issued','session.started','token.refused'])[1 + n % 6],
     case when n % 6 = 5 then 'failure' else 'success' end, case when n % 6 = 5 then 'scope_not_allowed' end, 'client', 'client-' || n % 1000,
     'user-' || n % 100000, 'client-' || n % 1000, 'client_credentials', 'jti-' || n, 'grant-' || n % 500000, 'request-' || n
   from made`;

const TABLES: readonly Table[] = [
  { table: "audit_records", rows: ({ auditRecords: count }) => count, insert: auditRecords },
  {
    table: "refresh_tokens",
    rows: (size) => Math.ceil(families(size) * 1.6),
    insert: (size) =>
      `insert into refresh_tokens (token_hash, family_id) select sha256(int4send(-n)), ${uuidOf(`((n - 1) % ${size.families} + 1)`, 6)} from ${SERIES}`,
  },
  {
    table: "refresh_families",
    rows: families,
    insert: () =>
      `insert into refresh_families (id, grant_id, current_hash, expires_at, ends_at)
       select ${uuidOf("n", 6)}, ${uuidOf("n", 5)}, sha256(int4send(n)), now() + interval '20 days', now() + interval '60 days' from ${SERIES}`,
  },
  {
    table: "grants",
    rows: families,
    insert: (size) =>
      `insert into grants (id, client_id, user_id, scopes, audience, auth_time)
       select ${uuidOf("n", 5)}, ${clientOf(size)}, ${userOf(size)}, '{openid,notes:read}', '{}', now() from ${SERIES}`,
  },
  {
    table: "consents",
    rows: (size) => families(size) / 2,
    insert: (size) =>
      `insert into consents (id, user_id, client_id, client_name, scopes, resources, allowed)
       select ${uuidOf("n", 4)}, ${userOf(size)}, ${clientOf(size)}, 'Client', '{openid,notes:read}', '{}', '{"": ["openid", "notes:read"]}' from ${SERIES}`,
  },
  {
    table: "users",
    rows: ({ users }) => users,
    insert: () =>
      `insert into users (id, realm_id, email, email_key, first_name, last_name, role, enabled, email_verified, created_at)
       select ${uuidOf("n", 1)}, ${REALM}, md5(n::text) || '@example.test', md5(n::text) || '@example.test', 'Name' || n % 5000, 'Family' || n % 9001,
         (array['operator','developer','user'])[1 + (n % 10000 > 0)::int + (n % 100 > 0)::int], n % 50000 <> 0, n % 50 <> 0, now() - make_interval(mins => n) from ${SERIES}`,
  },
  {
    table: "sessions",
    rows: ({ users }) => users,
    insert: (size) =>
      `insert into sessions (id, token_hash, user_id, expires_at) select ${uuidOf("n", 3)}, sha256(int4send(n)), ${userOf(size)}, now() + interval '10 days' from ${SERIES}`,
  },
  {
    table: "clients",
    rows: ({ clients }) => clients,
    insert: (size) =>
      `insert into clients (id, client_id, realm_id, owner_id, origin, name, redirect_uris, scopes, grant_types, response_types, token_endpoint_auth_method,
         is_agent, enabled, environment, created_at, last_used_at)
       select ${uuidOf("n", 2)}, 'client-' || n, ${REALM}, ${userOf(size)}, (array['developer','dynamic','operator'])[1 + n % 3], 'Client ' || md5(n::text), '{https://app.example.test/cb}',
         '{openid,notes:read}', '{authorization_code,refresh_token}', '{code}', 'none', n % 100 = 0, n % 5000 <> 0,
         (array['production','staging','development'])[1 + (n % 20 = 0)::int + (n % 100 = 0)::int], now() - make_interval(mins => n), now() - make_interval(secs => n % 86400) from ${SERIES}`,
  },
  {
    table: "authorization_codes",
    rows: (size) => families(size) / 10,
    insert: (size) =>
      `insert into authorization_codes (code_hash, client_id, user_id, session_id, redirect_uri, code_challenge, scopes, resources, auth_time, expires_at)
       select sha256(int4send(n)), ${clientOf(size)}, ${userOf(size)}, ${uuidOf("n", 3)}, '', '', '{openid}', '{}', now(), now() + interval '10 hours' from ${SERIES}`,
  },
  {
    table: "revocations",
    rows: (size) => families(size) / 10,
    insert: (size) =>
      `insert into revocations (jti, client_id, expires_at) select 'jti-' || n, ${clientOf(size)}, now() + interval '10 hours' from ${SERIES}`,
  },
  {
    table: "consumed_ids",
    rows: (size) => families(size) / 5,
    insert: () => `insert into consumed_ids select 'client_assertion', sha256(int4send(n)), now() + interval '10 hours' from ${SERIES}`,
  },
  {
    table: "delegations",
    rows: (size) => families(size) / 5,
    insert: (size) =>
      `insert into delegations (id, kind, jti, parent_jti, grant_id, user_id, path, actor, scopes, audience, created_at, expires_at)
       select ${uuidOf("n", 7)}, 'access_token', 'd-' || n, 'x', ${uuidOf("n", 5)}, ${userOf(size)}, array[${uuidOf("n", 7)}], ${clientOf(size)}, '{notes:read}', '{}',
         now() - make_interval(secs => n % 7200), now() + interval '10 hours' from ${SERIES}`,
  },
];

/** Rows of one insert. */
const AT_ONCE = 250_000;

// Indexes that no constraint needs are made when all rows are there, which takes a fraction of the time.
// The definition for a partitioned table says ONLY, which would leave its partitions without the index.
const INDEXES = `select replace(pg_get_indexdef(indexrelid), ' ON ONLY ', ' ON ') as definition, indexrelid::regclass::text as name
  from pg_index join pg_class on pg_class.oid = indexrelid
  where indrelid = $1::regclass and not relispartition and not exists (select from pg_constraint where conindid = indexrelid)`;

async function connected<Result>(url: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    // Without triggers and foreign keys, which needs a superuser.
    await client.query(
      "set session_replication_role = replica; set synchronous_commit = off; set jit = off; set maintenance_work_mem = '512MB'",
    );
    return await work(client);
  } finally {
    await client.end();
  }
}

async function fillTable(url: string, { table, rows, insert }: Table, size: Size): Promise<void> {
  await connected(url, async (client) => {
    const { rows: indexes } = await client.query<{ definition: string; name: string }>(INDEXES, [table]);
    for (const { name } of indexes) await client.query(`drop index ${name}`);
    const count = Math.ceil(rows(size));
    for (let done = 0; done < count; done += AT_ONCE) await client.query(insert(size), [done + 1, Math.min(done + AT_ONCE, count)]);
    for (const { definition } of indexes) await client.query(definition);
    // Without vacuum, the lists of what is not in the search indexes yet would be part of every cost.
    await client.query(`vacuum analyze ${table}`);
  });
}

/** Fills an empty, migrated database, two tables at a time. @param done called after each table */
export async function fill(url: string, size: Size, done: (table: string) => void): Promise<void> {
  const left = [...TABLES];
  const worker = async (): Promise<void> => {
    for (let table = left.shift(); table !== undefined; table = left.shift()) {
      await fillTable(url, table, size);
      done(table.table);
    }
  };
  await Promise.all([worker(), worker()]);
  await connected(url, (client) => client.query("vacuum analyze audit_links"));
}
