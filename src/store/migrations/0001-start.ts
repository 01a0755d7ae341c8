import { Migration } from "@mikro-orm/migrations";

/**
 * A UUIDv7 (RFC 9562 §5.7) out of a random UUIDv4: 48 bits of milliseconds in front, and 7 for the version.
 * The random value has its variant already; bits are counted from the low end of each byte.
 */
const uuidV7 = `create function uuid_v7() returns uuid language sql volatile parallel safe as $$
  select encode(
    set_bit(set_bit(
      substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) || substring(uuid_send(gen_random_uuid()) from 7),
      52, 1), 53, 1),
    'hex')::uuid
$$`;

const accounts = [
  `create table realms (
    id uuid not null default uuid_v7() primary key,
    name text not null constraint realms_name_unique unique,
    dynamic_registration_scopes text[],
    created_at timestamptz not null default now()
  )`,
  `create table users (
    id uuid not null default uuid_v7() primary key,
    realm_id uuid not null constraint users_realm_id_foreign references realms (id),
    email text not null,
    email_key text not null constraint users_email_key_unique unique,
    email_verified boolean not null default false,
    first_name text,
    last_name text,
    role text not null default 'developer' constraint users_role_check check (role in ('developer', 'operator')),
    enabled boolean not null default true,
    created_at timestamptz not null default now(),
    updated_at timestamptz
  )`,
  `create table credentials (
    id uuid not null default uuid_v7() primary key,
    user_id uuid not null constraint credentials_user_id_foreign references users (id) on delete cascade,
    type text not null,
    password_hash text,
    subject text,
    created_at timestamptz not null default now(),
    updated_at timestamptz,
    constraint credentials_user_id_type_unique unique (user_id, type),
    constraint credentials_type_subject_unique unique (type, subject),
    constraint credentials_type_check check ((type = 'password' and password_hash is not null) or (type = 'wallet' and subject is not null))
  )`,
  `create table sessions (
    id uuid not null default uuid_v7() primary key,
    token_hash bytea not null constraint sessions_token_hash_unique unique,
    user_id uuid not null constraint sessions_user_id_foreign references users (id) on delete cascade,
    auth_time timestamptz not null default now(),
    expires_at timestamptz not null,
    ended_at timestamptz
  )`,
  "create index sessions_user_id_index on sessions (user_id)",
  "create index sessions_expires_at_index on sessions (expires_at)",
  `create table verification_tokens (
    token_hash bytea not null primary key,
    user_id uuid not null constraint verification_tokens_user_id_foreign references users (id) on delete cascade,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    used_at timestamptz
  )`,
  "create index verification_tokens_user_id_index on verification_tokens (user_id)",
  "create index verification_tokens_expires_at_index on verification_tokens (expires_at)",
  `create table sign_in_failures (
    key bytea not null primary key,
    failures integer not null,
    window_ends_at timestamptz not null
  )`,
  "create index sign_in_failures_window_ends_at_index on sign_in_failures (window_ends_at)",
  `create table pending_requests (
    id_hash bytea not null primary key,
    query text not null,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null
  )`,
  "create index pending_requests_expires_at_index on pending_requests (expires_at)",
  `create table outbox (
    id uuid not null default uuid_v7() primary key,
    recipient text not null,
    subject text not null,
    text text not null,
    html text not null,
    attempts integer not null default 0,
    created_at timestamptz not null default now(),
    due_at timestamptz not null default now()
  )`,
  "create index outbox_due_at_index on outbox (due_at)",
  `create table consents (
    id uuid not null default uuid_v7() primary key,
    user_id uuid not null constraint consents_user_id_foreign references users (id) on delete cascade,
    client_id text not null,
    client_name text not null,
    scopes text[] not null,
    resources text[] not null,
    created_at timestamptz not null default now(),
    updated_at timestamptz,
    last_used_at timestamptz,
    constraint consents_user_id_client_id_unique unique (user_id, client_id)
  )`,
];

const clients = [
  `create table clients (
    id uuid not null default uuid_v7() primary key,
    client_id text not null constraint clients_client_id_unique unique,
    realm_id uuid not null constraint clients_realm_id_foreign references realms (id),
    owner_id uuid constraint clients_owner_id_foreign references users (id) on delete cascade,
    origin text not null constraint clients_origin_check check (origin in ('built_in', 'operator', 'developer', 'dynamic')),
    name text not null,
    description text,
    redirect_uris text[] not null,
    scopes text[] not null,
    grant_types text[] not null constraint clients_grant_types_check check (cardinality(grant_types) > 0),
    response_types text[] not null,
    token_endpoint_auth_method text not null constraint clients_auth_method_check
      check (token_endpoint_auth_method in ('client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none')),
    secret_hash bytea,
    enabled boolean not null default true,
    environment text constraint clients_environment_check check (environment in ('development', 'staging', 'production')),
    is_agent boolean not null default false,
    max_agent_mode text constraint clients_max_agent_mode_check check (max_agent_mode in ('readonly', 'admin', 'exec')),
    audience text[],
    jwks jsonb,
    jwks_uri text,
    created_at timestamptz not null default now(),
    updated_at timestamptz,
    last_used_at timestamptz,
    constraint clients_public_secret_check check (token_endpoint_auth_method <> 'none' or secret_hash is null)
  )`,
  "create index clients_owner_id_index on clients (owner_id)",
];

const grants = [
  `create table grants (
    id uuid not null default uuid_v7() primary key,
    client_id text not null,
    user_id uuid not null constraint grants_user_id_foreign references users (id) on delete cascade,
    scopes text[] not null,
    audience text[] not null,
    auth_time timestamptz not null,
    created_at timestamptz not null default now(),
    revoked_at timestamptz
  )`,
  "create index grants_created_at_index on grants (created_at)",
  "create index grants_user_id_client_id_index on grants (user_id, client_id)",
  `create table authorization_codes (
    code_hash bytea not null primary key,
    client_id text not null,
    user_id uuid not null constraint authorization_codes_user_id_foreign references users (id) on delete cascade,
    session_id uuid not null,
    redirect_uri text not null,
    code_challenge text not null,
    scopes text[] not null,
    resources text[] not null,
    nonce text,
    auth_time timestamptz not null,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    consumed_at timestamptz,
    grant_id uuid constraint authorization_codes_grant_id_foreign references grants (id) on delete cascade,
    constraint authorization_codes_consumed_check check ((consumed_at is null) = (grant_id is null))
  )`,
  "create index authorization_codes_user_id_index on authorization_codes (user_id)",
  "create index authorization_codes_expires_at_index on authorization_codes (expires_at)",
  "create index authorization_codes_grant_id_index on authorization_codes (grant_id)",
  `create table refresh_families (
    id uuid not null default uuid_v7() primary key,
    grant_id uuid not null constraint refresh_families_grant_id_foreign references grants (id) on delete cascade,
    current_hash bytea not null constraint refresh_families_current_hash_unique unique,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    ends_at timestamptz not null,
    revoked_at timestamptz,
    constraint refresh_families_expiry_check check (expires_at <= ends_at)
  )`,
  "create index refresh_families_grant_id_index on refresh_families (grant_id)",
  "create index refresh_families_expires_at_index on refresh_families (expires_at)",
  `create table refresh_tokens (
    token_hash bytea not null primary key,
    family_id uuid not null constraint refresh_tokens_family_id_foreign references refresh_families (id) on delete cascade,
    used_at timestamptz not null default now()
  )`,
  "create index refresh_tokens_family_id_index on refresh_tokens (family_id)",
  `create table revocations (
    jti text not null primary key,
    client_id text not null,
    revoked_at timestamptz not null default now(),
    expires_at timestamptz not null
  )`,
  "create index revocations_expires_at_index on revocations (expires_at)",
  `create table consumed_ids (
    kind text not null,
    id_hash bytea not null,
    expires_at timestamptz not null,
    primary key (kind, id_hash)
  )`,
  "create index consumed_ids_expires_at_index on consumed_ids (expires_at)",
];

const records = [
  `create table audit_records (
    id uuid not null default uuid_v7() primary key,
    at timestamptz not null default now(),
    event text not null,
    outcome text not null constraint audit_records_outcome_check check (outcome in ('success', 'failure')),
    reason text,
    actor_type text not null,
    actor_id text not null,
    user_id text,
    client_id text,
    grant_type text,
    scope text,
    resources text[],
    jti text,
    grant_id text,
    act_chain text[],
    address text,
    request_id text
  )`,
  `create table signing_keys (
    kid text not null primary key,
    jwk jsonb not null,
    published_at timestamptz not null default now(),
    in_use_at timestamptz
  )`,
];

/** What every deployment has from the start: the default realm, and the client to which login token sets belong. */
const rows = [
  "insert into realms (id, name) values ('00000000-0000-7000-8000-000000000001', 'default')",
  `insert into clients (id, client_id, realm_id, origin, name, redirect_uris, scopes, grant_types, response_types, token_endpoint_auth_method)
   values ('00000000-0000-7000-8000-000000000002', 'countersign', '00000000-0000-7000-8000-000000000001', 'built_in', 'Countersign',
           '{}', '{openid,profile,email}', '{refresh_token}', '{}', 'none')`,
];

export class Start extends Migration {
  override up(): void {
    for (const statement of [uuidV7, ...accounts, ...clients, ...grants, ...records, ...rows]) this.addSql(statement);
  }
}
