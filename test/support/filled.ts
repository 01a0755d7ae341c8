import pg from "pg";

/** A UUIDv7 with the timestamp `n`, so that ids of one kind sort by their numbers. */
const uuidOf = (n: string, kind: number): string => `(lpad(to_hex(${n}), 12, '0') || '7000800000000000000${kind}')::uuid`;

const REALM = "'00000000-0000-7000-8000-000000000001'::uuid";
/** Rows per user, and per client. */
const PER_USER = 10;
const PER_CLIENT = 1_000;

/** Inserts that fill each large table with the rows `from` to `to`; users, clients and the like in proportion. */
function fills(): readonly string[] {
  const user = uuidOf(`n / ${PER_USER}`, 1);
  const client = `'client-' || n / ${PER_CLIENT}`;
  const series = "generate_series($1::int, $2::int) n";
  const some = `${series} where n % ${PER_USER} = 0`;
  return [
    `insert into users (id, realm_id, email, email_key, first_name, role, enabled, email_verified)
     select ${user}, ${REALM}, md5(n::text) || '@example.test', md5(n::text) || '@example.test', 'Name' || n,
       case when n % 50000 = 0 then 'operator' else 'developer' end, n % 50000 <> 0, n % 50000 <> 0 from ${some}`,
    `insert into clients (id, client_id, realm_id, origin, name, redirect_uris, scopes, grant_types, response_types, token_endpoint_auth_method)
     select ${uuidOf("n", 2)}, 'client-' || n / ${PER_CLIENT}, ${REALM}, 'operator', 'x', '{}', '{}', '{refresh_token}', '{}', 'none'
     from ${series} where n % ${PER_CLIENT} = 0`,
    `insert into clients (id, client_id, realm_id, owner_id, origin, name, redirect_uris, scopes, grant_types, response_types, token_endpoint_auth_method, is_agent, enabled, environment, last_used_at)
     select ${uuidOf("n", 9)}, 'listed-' || md5(n::text), ${REALM}, ${user}, case when n % 50000 = 0 then 'built_in' else 'dynamic' end, 'Client ' || n, '{}', '{}', '{refresh_token}', '{}', 'none',
       n % 50000 = 0, n % 50000 <> 0, case when n % 50000 = 0 then 'staging' else 'production' end, now() - make_interval(secs => n % 86400) from ${some}`,
    `insert into realms (id, name) select ${uuidOf("n", 8)}, 'Realm ' || md5(n::text) from ${some}`,
    `insert into resources (id, realm_id, resource, name, scopes, clients, origin)
     select ${uuidOf("n", 8)}, ${REALM}, 'https://r-' || n / ${PER_USER} || '.example.test', 'Resource ' || md5(n::text), '[]', '{}', 'operator' from ${some}`,
    `insert into resource_refusals (realm_id, resource, record_id, at)
     select ${REALM}, 'https://r-' || n / ${PER_CLIENT} || '.example.test', ${uuidOf("n", 8)}, now() from ${some}`,
    `insert into connections (id, realm_id, name, title, protocol, issuer, client_id, auth_method, scopes)
     select ${uuidOf("n", 8)}, ${REALM}, md5(n::text), 'Provider', 'oidc', 'https://p.example.test', 'x', 'none', '{}' from ${some}`,
    `insert into workload_issuers (id, issuer, kind, algorithms, max_lifetime, single_use)
     select ${uuidOf(`n / ${PER_USER}`, 8)}, 'https://workloads-' || n / ${PER_USER} || '.example.test', 'oidc', '{RS256}', 60, true from ${some}`,
    `insert into workload_identities (id, issuer_id, client_id, subject)
     select ${uuidOf("n", 8)}, ${uuidOf(`n / ${PER_CLIENT}`, 8)}, ${uuidOf("n / 100 * 100", 9)}, md5(n::text) from ${some}`,
    `insert into scope_descriptions (realm_id, name, title, detail) select ${REALM}, md5(n::text), '{}', '{}' from ${some}`,
    `insert into sessions (id, token_hash, user_id, expires_at) select ${uuidOf("n", 3)}, sha256(int4send(n)), ${user}, now() + interval '1 day' from ${some}`,
    `insert into consents (id, user_id, client_id, client_name, scopes, resources, allowed)
     select ${uuidOf("n", 4)}, ${user}, 'client-' || n * 7919::bigint % 5000, 'x', '{a}', '{}', '{"": ["a"]}' from ${series}`,
    `insert into grants (id, client_id, user_id, scopes, audience, auth_time) select ${uuidOf("n", 5)}, ${client}, ${user}, '{a}', '{}', now() from ${series}`,
    `insert into refresh_families (id, grant_id, current_hash, expires_at, ends_at)
     select ${uuidOf("n", 6)}, ${uuidOf("n", 5)}, sha256(int4send(n)), now() + interval '1 day', now() + interval '9 days' from ${series}`,
    `insert into refresh_tokens (token_hash, family_id) select sha256(int4send(-n)), ${uuidOf("n", 6)} from ${series}`,
    // Most codes were issued within the last minute.
    `insert into authorization_codes (code_hash, client_id, user_id, session_id, redirect_uri, code_challenge, scopes, resources, auth_time, expires_at)
     select sha256(int4send(n)), ${client}, ${user}, ${uuidOf("n", 3)}, '', '', '{a}', '{}', now(), now() + interval '50 seconds' from ${series}`,
    `insert into revocations (jti, client_id, expires_at) select 'jti-' || n, ${client}, now() + interval '1 hour' from ${some}`,
    `insert into consumed_ids select 'client_assertion', sha256(int4send(n)), now() + interval '1 hour' from ${some}`,
    `insert into delegations (id, kind, jti, parent_jti, grant_id, user_id, path, actor, scopes, audience, expires_at)
     select ${uuidOf("n", 7)}, 'access_token', 'd-' || n, 'x', ${uuidOf("n", 5)}, ${user}, array[${uuidOf("n", 7)}], ${client}, '{}', '{}', now() + interval '1 hour' from ${some}`,
    `insert into audit_records (id, at, event, outcome, reason, actor_type, actor_id, user_id, client_id, jti, grant_id, request_id)
     select ${uuidOf("n", 8)}, to_timestamp(n / 1000.0), case when n % 100 = 0 then 'token.refused' else 'token.issued' end,
       case when n % 100 = 0 then 'failure' else 'success' end, case when n % 100 = 0 then 'code_expired' end, 'client', ${client},
       (${user})::text, ${client}, 'jti-' || n, (${uuidOf("n", 5)})::text, 'request-' || n from ${series}`,
    `insert into audit_links (id, seq, hash) select ${uuidOf("n", 8)}, n, '' from ${series}`,
  ];
}

const LARGE = [
  "users, clients, sessions, consents, grants, refresh_families, refresh_tokens, authorization_codes, revocations, consumed_ids, delegations",
  "audit_records, audit_links, realms, resources, resource_refusals, connections, workload_issuers, workload_identities, scope_descriptions",
].join(", ");

export async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client;
}

async function run(url: string, texts: readonly string[], from: number, to: number): Promise<void> {
  const client = await connect(url);
  try {
    await client.query("set session_replication_role = replica; set synchronous_commit = off; set jit = off");
    for (const text of texts) await client.query(text, [from, to]);
  } finally {
    await client.end();
  }
}

/** Fills every large table with the rows `from` to `to`, without triggers and foreign keys, which needs a superuser. */
export async function fill(url: string, from: number, to: number): Promise<void> {
  const texts = fills();
  const half = (rest: number) => texts.filter((_, at) => at % 2 === rest);
  await Promise.all([run(url, half(0), from, to), run(url, half(1), from, to)]);
  const client = await connect(url);
  // Without vacuum, the lists of what is not in the search indexes yet would be part of every cost.
  await client.query(`vacuum analyze ${LARGE}`);
  await client.end();
}
