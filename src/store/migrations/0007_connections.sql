-- Sign-in by other identity providers.
create table connections (
  id uuid not null default uuid_v7() primary key,
  realm_id uuid not null constraint connections_realm_id_foreign references realms (id) on delete cascade,
  name text not null constraint connections_name_unique unique,
  title text not null,
  protocol text not null,
  issuer text not null,
  client_id text not null,
  auth_method text not null,
  secret text,
  public_key jsonb,
  scopes text[] not null,
  domains text[] not null default '{}',
  trusts_acr boolean not null default false,
  enabled boolean not null default true,
  created_at timestamptz not null default now(),
  updated_at timestamptz,
  constraint connections_protocol_check check (protocol in ('oidc', 'github')),
  constraint connections_auth_method_check check (auth_method in ('client_secret', 'private_key_jwt', 'none'))
);

-- A confirmed identity signs in to its account: the account was opened by it, or its user linked it while signed in.
alter table identity_links add column confirmed boolean not null default false, add column email text;

update identity_links set confirmed = true from users where users.id = user_id and users.email_key = users.id::text || '@identity.invalid';

-- The upstream session that a session was started by, so that it ends with it.
create table upstream_sessions (
  session_id uuid not null constraint upstream_sessions_pkey primary key constraint upstream_sessions_session_id_foreign references sessions (id) on delete cascade,
  issuer text not null,
  subject text not null,
  sid text
);

create index upstream_sessions_issuer_subject_index on upstream_sessions (issuer, subject);

create index upstream_sessions_issuer_sid_index on upstream_sessions (issuer, sid);

-- Back-channel logout: the clients that are notified of the end of a session, and the notifications to be sent.
alter table clients add column backchannel_logout_uri text, add column backchannel_logout_session_required boolean not null default false;

create table session_clients (
  session_id uuid not null constraint session_clients_session_id_foreign references sessions (id) on delete cascade,
  client_id text not null,
  constraint session_clients_pkey primary key (session_id, client_id)
);

create table logout_deliveries (
  id uuid not null default uuid_v7() primary key,
  client_id text not null,
  user_id uuid not null,
  session_id uuid not null,
  attempts integer not null default 0,
  created_at timestamptz not null default now(),
  due_at timestamptz not null default now()
);

create index logout_deliveries_due_at_index on logout_deliveries (due_at);

create function queue_logouts() returns trigger language plpgsql as $$
begin
  insert into logout_deliveries (client_id, user_id, session_id)
    select session_clients.client_id, new.user_id, new.id from session_clients where session_clients.session_id = new.id;
  return null;
end
$$;

create trigger queue_logouts after update of ended_at on sessions
  for each row when (old.ended_at is null and new.ended_at is not null) execute function queue_logouts();

-- Browsers in which a user has signed in, by hash of account and cookie. They have limits of their own for failed sign-ins.
create table known_devices (
  key_hash bytea not null primary key,
  user_id uuid not null constraint known_devices_user_id_foreign references users (id) on delete cascade,
  expires_at timestamptz not null
);

create index known_devices_user_id_index on known_devices (user_id);

create index known_devices_expires_at_index on known_devices (expires_at);
