-- The schema of the first release. A blank line separates statements. A released file is never changed.
--
-- RFC 9562 §5.7 and §6.2, method 3: the twelve bits after the version are the fraction of the millisecond, so that ids are in order.
create function uuid_v7() returns uuid language sql volatile parallel safe as $$
  select encode(
    substring(int8send(micros / 1000) from 3)
      || substring(int4send((28672 + micros % 1000 * 4096 / 1000)::int) from 3)
      || substring(uuid_send(gen_random_uuid()) from 9),
    'hex')::uuid
  from (select (extract(epoch from clock_timestamp()) * 1000000)::bigint as micros) as moment
$$;

-- A statement calls it when the deadline of its call has passed, so that the whole of it is undone. 57014 is what a statement timeout raises
-- too: the caller is answered that the service is unavailable, and nothing was written.
create function refuse_late() returns boolean language plpgsql as $$
begin
  raise exception 'the deadline of the call has passed' using errcode = '57014';
end
$$;

-- Accounts and what belongs to them.
create table realms (
  id uuid not null default uuid_v7() primary key,
  name text not null constraint realms_name_unique unique,
  dynamic_registration_scopes text[],
  created_at timestamptz not null default now()
);

create table users (
  id uuid not null default uuid_v7() primary key,
  realm_id uuid not null constraint users_realm_id_foreign references realms (id),
  email text not null,
  email_key text not null constraint users_email_key_unique unique,
  email_verified boolean not null default false,
  first_name text,
  last_name text,
  role text not null default 'developer',
  enabled boolean not null default true,
  created_at timestamptz not null default now(),
  updated_at timestamptz,
  epoch integer not null default 0,
  deleted_at timestamptz,
  constraint users_role_check check (role in ('developer', 'operator'))
);

create table credentials (
  id uuid not null default uuid_v7() primary key,
  user_id uuid not null constraint credentials_user_id_foreign references users (id) on delete cascade,
  type text not null,
  password_hash text,
  subject text,
  created_at timestamptz not null default now(),
  updated_at timestamptz,
  issuer text,
  generation integer not null default 0,
  constraint credentials_type_issuer_subject_unique unique (type, issuer, subject),
  constraint credentials_user_id_type_unique unique (user_id, type),
  constraint credentials_type_check check (
    (type = 'password' and password_hash is not null) or (type = 'wallet' and issuer is not null and subject is not null))
);

create table sessions (
  id uuid not null default uuid_v7() primary key,
  token_hash bytea not null constraint sessions_token_hash_unique unique,
  user_id uuid not null constraint sessions_user_id_foreign references users (id) on delete cascade,
  auth_time timestamptz not null default now(),
  expires_at timestamptz not null,
  ended_at timestamptz,
  last_seen_at timestamptz not null default now(),
  address text,
  browser text,
  system text,
  grant_id uuid,
  user_epoch integer not null default 0
);

create index sessions_expires_at_index on sessions (expires_at);

create index sessions_user_id_index on sessions (user_id);

create table verification_tokens (
  token_hash bytea not null primary key,
  user_id uuid not null constraint verification_tokens_user_id_foreign references users (id) on delete cascade,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  used_at timestamptz
);

create index verification_tokens_expires_at_index on verification_tokens (expires_at);

create index verification_tokens_user_id_index on verification_tokens (user_id);

create table password_resets (
  user_id uuid not null primary key constraint password_resets_user_id_foreign references users (id) on delete cascade,
  token_hash bytea not null constraint password_resets_token_hash_unique unique,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);

create index password_resets_expires_at_index on password_resets (expires_at);

create table sign_in_failures (
  key bytea not null primary key,
  failures integer not null,
  window_ends_at timestamptz not null,
  pending integer not null default 0,
  pending_until timestamptz not null default now()
);

create index sign_in_failures_window_ends_at_index on sign_in_failures (window_ends_at);

create table pending_requests (
  id_hash bytea not null primary key,
  query text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  holder text not null default ''
);

create index pending_requests_expires_at_index on pending_requests (expires_at);

create index pending_requests_holder_index on pending_requests (holder, created_at);

create table outbox (
  id uuid not null default uuid_v7() primary key,
  recipient text not null,
  subject text not null,
  text text not null,
  html text not null,
  attempts integer not null default 0,
  created_at timestamptz not null default now(),
  due_at timestamptz not null default now(),
  user_id uuid constraint outbox_user_id_foreign references users (id) on delete cascade,
  about text not null default 'notice',
  expires_at timestamptz not null default now() + interval '24 hours',
  constraint outbox_about_check check (about in ('verification', 'reset', 'notice'))
);

create index outbox_due_at_index on outbox (due_at);

create index outbox_user_id_index on outbox (user_id);

create table consents (
  id uuid not null default uuid_v7() primary key,
  user_id uuid not null constraint consents_user_id_foreign references users (id) on delete cascade,
  client_id text not null,
  client_name text not null,
  scopes text[] not null,
  resources text[] not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz,
  last_used_at timestamptz,
  client_fingerprint text,
  allowed jsonb not null default '{}',
  constraint consents_user_id_client_id_unique unique (user_id, client_id)
);

create index consents_client_id_index on consents (client_id);

create table scope_descriptions (
  realm_id uuid not null constraint scope_descriptions_realm_id_foreign references realms (id) on delete cascade,
  name text not null,
  title jsonb not null,
  detail jsonb not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz,
  primary key (realm_id, name)
);

create table wallet_links (
  handle_hash bytea not null primary key,
  state_hash bytea not null constraint wallet_links_state_hash_unique unique,
  return_hash bytea constraint wallet_links_return_hash_unique unique,
  user_id uuid not null constraint wallet_links_user_id_foreign references users (id) on delete cascade,
  session_id uuid not null,
  same_device boolean not null,
  state text not null default 'pending',
  reason text,
  issuer text,
  subject text,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  constraint wallet_links_identity_check check ((state = 'presented') = (subject is not null) and (issuer is null) = (subject is null)),
  constraint wallet_links_state_check check (state in ('pending', 'answered', 'presented', 'linked', 'conflict', 'expired', 'rejected'))
);

create index wallet_links_expires_at_index on wallet_links (expires_at);

create index wallet_links_user_id_index on wallet_links (user_id);

-- Clients, what is granted to them, and who acts for whom.
create table clients (
  id uuid not null default uuid_v7() primary key,
  client_id text not null constraint clients_client_id_unique unique,
  realm_id uuid not null constraint clients_realm_id_foreign references realms (id),
  owner_id uuid constraint clients_owner_id_foreign references users (id) on delete cascade,
  origin text not null,
  name text not null,
  description text,
  redirect_uris text[] not null,
  scopes text[] not null,
  grant_types text[] not null,
  response_types text[] not null,
  token_endpoint_auth_method text not null,
  secret_hash bytea,
  enabled boolean not null default true,
  environment text,
  is_agent boolean not null default false,
  max_agent_mode text,
  audience text[],
  jwks jsonb,
  jwks_uri text,
  created_at timestamptz not null default now(),
  updated_at timestamptz,
  last_used_at timestamptz,
  post_logout_redirect_uris text[] not null default '{}',
  epoch integer not null default 0,
  constraint clients_auth_method_check check (
    token_endpoint_auth_method in ('client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none')),
  constraint clients_environment_check check (environment in ('development', 'staging', 'production')),
  constraint clients_grant_types_check check (cardinality(grant_types) > 0),
  constraint clients_max_agent_mode_check check (max_agent_mode in ('readonly', 'admin', 'exec')),
  constraint clients_origin_check check (origin in ('built_in', 'operator', 'developer', 'dynamic')),
  constraint clients_public_secret_check check (token_endpoint_auth_method <> 'none' or secret_hash is null)
);

create index clients_dynamic_last_used_index on clients (last_used_at) where origin = 'dynamic';

create index clients_dynamic_unused_index on clients (created_at) where origin = 'dynamic' and last_used_at is null;

create index clients_owner_id_index on clients (owner_id);

create table api_keys (
  id uuid not null default uuid_v7() primary key,
  client_id uuid not null constraint api_keys_client_id_foreign references clients (id) on delete cascade,
  name text not null,
  prefix text not null,
  last4 text not null,
  key_hash bytea not null constraint api_keys_key_hash_unique unique,
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  revoked_at timestamptz
);

create index api_keys_client_id_index on api_keys (client_id);

create table grants (
  id uuid not null default uuid_v7() primary key,
  client_id text not null,
  user_id uuid not null constraint grants_user_id_foreign references users (id) on delete cascade,
  scopes text[] not null,
  audience text[] not null,
  auth_time timestamptz not null,
  created_at timestamptz not null default now(),
  revoked_at timestamptz,
  document_client jsonb,
  signed_out_at timestamptz,
  user_epoch integer not null default 0,
  client_epoch integer not null default 0
);

create index grants_client_id_id_index on grants (client_id, id);

create index grants_created_at_index on grants (created_at);

create index grants_user_id_client_id_id_index on grants (user_id, client_id, id);

create table authorization_codes (
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
  document_client jsonb,
  user_epoch integer not null default 0,
  client_epoch integer not null default 0,
  constraint authorization_codes_consumed_check check ((consumed_at is null) = (grant_id is null))
);

create index authorization_codes_expires_at_index on authorization_codes (expires_at);

create index authorization_codes_grant_id_index on authorization_codes (grant_id);

create index authorization_codes_user_id_index on authorization_codes (user_id);

create table refresh_families (
  id uuid not null default uuid_v7() primary key,
  grant_id uuid not null constraint refresh_families_grant_id_foreign references grants (id) on delete cascade,
  current_hash bytea not null constraint refresh_families_current_hash_unique unique,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  ends_at timestamptz not null,
  revoked_at timestamptz,
  cnf jsonb,
  constraint refresh_families_expiry_check check (expires_at <= ends_at)
);

create index refresh_families_expires_at_index on refresh_families (expires_at);

create index refresh_families_grant_id_index on refresh_families (grant_id);

create table refresh_tokens (
  token_hash bytea not null primary key,
  family_id uuid not null constraint refresh_tokens_family_id_foreign references refresh_families (id) on delete cascade,
  used_at timestamptz not null default now()
);

create index refresh_tokens_family_id_index on refresh_tokens (family_id);

create table revocations (
  jti text not null primary key,
  client_id text not null,
  revoked_at timestamptz not null default now(),
  expires_at timestamptz not null
);

create index revocations_expires_at_index on revocations (expires_at);

create table revocation_events (
  id bigserial primary key,
  xid bigint not null,
  kind text not null,
  key text not null,
  lifted boolean not null,
  revoked_at timestamptz not null default now(),
  expires_at timestamptz not null,
  constraint revocation_events_kind_check check (kind in ('jti', 'grant', 'client', 'user', 'agent'))
);

create index revocation_events_expires_at_index on revocation_events (expires_at);

create index revocation_events_kind_key_index on revocation_events (kind, key);

create index revocation_events_xid_index on revocation_events (xid);

create table consumed_ids (
  kind text not null,
  id_hash bytea not null,
  expires_at timestamptz not null,
  primary key (kind, id_hash)
);

create index consumed_ids_expires_at_index on consumed_ids (expires_at);

create table detached_signatures (
  jti text not null primary key,
  alg text not null,
  signature bytea not null,
  expires_at timestamptz not null
);

-- Signatures are as good as random: compressing them is wasted.
alter table detached_signatures alter column signature set storage external;

create index detached_signatures_expires_at_index on detached_signatures (expires_at);

create table delegations (
  id uuid not null primary key,
  kind text not null,
  jti text not null,
  parent_id uuid constraint delegations_parent_id_foreign references delegations (id) on delete cascade,
  parent_jti text not null,
  grant_id uuid not null constraint delegations_grant_id_foreign references grants (id) on delete cascade,
  user_id uuid not null constraint delegations_user_id_foreign references users (id) on delete cascade,
  path uuid[] not null,
  actor text not null,
  scopes text[] not null,
  audience text[] not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  cut_at timestamptz,
  cut_by_type text,
  cut_by text,
  cnf jsonb,
  constraint delegations_kind_check check (kind in ('access_token', 'id_jag'))
);

create index delegations_actor_index on delegations (actor);

create index delegations_created_at_index on delegations (created_at, id);

create index delegations_expires_at_index on delegations (expires_at);

create index delegations_grant_id_index on delegations (grant_id);

create index delegations_parent_id_index on delegations (parent_id);

create index delegations_user_id_index on delegations (user_id);

create table agent_pauses (
  id uuid not null default uuid_v7() primary key,
  agent text not null,
  user_id uuid constraint agent_pauses_user_id_foreign references users (id) on delete cascade,
  paused_at timestamptz not null default now(),
  paused_by_type text not null,
  paused_by text not null
);

create unique index agent_pauses_agent_user_id_unique on agent_pauses (agent, user_id) nulls not distinct;

create index agent_pauses_user_id_index on agent_pauses (user_id);

create table identity_links (
  issuer text not null,
  subject text not null,
  user_id uuid not null constraint identity_links_user_id_foreign references users (id) on delete cascade,
  created_at timestamptz not null default now(),
  primary key (issuer, subject)
);

create index identity_links_user_id_index on identity_links (user_id);

-- The audit log, signing keys and the background removal of rows.
create table audit_records (
  id uuid not null default uuid_v7() primary key,
  at timestamptz not null default now(),
  event text not null,
  outcome text not null,
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
  request_id text,
  seq bigint constraint audit_records_seq_unique unique,
  hash bytea,
  rule text,
  error text,
  repeats integer,
  constraint audit_records_outcome_check check (outcome in ('success', 'failure')),
  constraint audit_records_seal_check check ((seq is null) = (hash is null))
);

create index audit_records_actor_index on audit_records (actor_id, id);

create index audit_records_client_failure_index on audit_records (client_id, id) where outcome = 'failure' and client_id is not null;

create index audit_records_client_index on audit_records (client_id, id) where client_id is not null;

create index audit_records_event_index on audit_records (event, id);

create index audit_records_failure_index on audit_records (id) where outcome = 'failure';

create index audit_records_grant_index on audit_records (grant_id, id) where grant_id is not null;

create index audit_records_jti_index on audit_records using hash (jti) where jti is not null;

create index audit_records_reason_index on audit_records (reason, id) where reason is not null;

create index audit_records_request_index on audit_records using hash (request_id) where request_id is not null;

create index audit_records_unsealed_index on audit_records (id) where seq is null;

create index audit_records_user_failure_index on audit_records (user_id, id) where outcome = 'failure' and user_id is not null;

create index audit_records_user_index on audit_records (user_id, id) where user_id is not null;

create table audit_checkpoints (
  seq bigint not null primary key,
  hash bytea not null,
  at timestamptz not null default now(),
  kid text not null,
  jws text not null
);

create table refused_exchanges (
  client_id text not null,
  address text not null,
  reason text not null,
  minute timestamptz not null,
  requests integer not null default 1,
  primary key (client_id, address, reason, minute)
);

create index refused_exchanges_minute_index on refused_exchanges (minute);

create table signing_keys (
  kid text not null primary key,
  jwk jsonb not null,
  published_at timestamptz not null default now(),
  in_use_at timestamptz,
  configured_at timestamptz
);

create table removals (
  id uuid not null default uuid_v7() primary key,
  kind text not null,
  key text not null,
  epoch integer not null,
  after_client_id text,
  after_id uuid,
  removed jsonb not null default '{}',
  created_at timestamptz not null default now(),
  constraint removals_kind_key_unique unique (kind, key),
  constraint removals_kind_check check (
    kind in ('client_disabled', 'client_deleted', 'user_signed_out', 'user_disabled', 'user_deleted'))
);

-- Revocation events, for resource servers that verify tokens themselves. Triggers write them, so that no statement revokes anything
-- without one, and in its transaction. An event has its transaction's id, by which readers find what was committed late (docs/decisions/0010).
-- No access token lives longer than a day (settings); an event stays an hour more, for clocks that differ.
create function record_revocation(text, text, boolean, timestamptz) returns void language sql as $$
  insert into revocation_events (xid, kind, key, lifted, expires_at) values (pg_current_xact_id()::text::bigint, $1, $2, $3, $4)
$$;

create function record_token_revoked() returns trigger language plpgsql as $$
begin
  perform record_revocation('jti', new.jti, false, new.expires_at);
  return null;
end
$$;

create trigger record_token_revoked after insert on revocations for each row execute function record_token_revoked();

-- What is below a cut delegation needs no event: a delegated token names its ancestor tokens.
create function record_delegation_cut() returns trigger language plpgsql as $$
begin
  perform record_revocation('jti', new.jti, false, new.expires_at);
  return null;
end
$$;

create trigger record_delegation_cut after update of cut_at on delegations
  for each row when (old.cut_at is null and new.cut_at is not null and new.kind = 'access_token') execute function record_delegation_cut();

-- A deleted client's own event covers its grants, so that guards are sent one event and not one for each grant.
create function record_grant_revoked() returns trigger language plpgsql as $$
begin
  if new.document_client is not null or exists (select 1 from clients where clients.client_id = new.client_id) then
    perform record_revocation('grant', new.id::text, false, now() + interval '25 hours');
  end if;
  return null;
end
$$;

create trigger record_grant_revoked after update of revoked_at on grants
  for each row when (old.revoked_at is null and new.revoked_at is not null) execute function record_grant_revoked();

create function record_client_changed() returns trigger language plpgsql as $$
begin
  perform record_revocation('client', new.client_id, new.enabled, now() + interval '25 hours');
  return null;
end
$$;

create trigger record_client_changed after update of enabled on clients
  for each row when (old.enabled <> new.enabled) execute function record_client_changed();

create function record_client_deleted() returns trigger language plpgsql as $$
begin
  perform record_revocation('client', old.client_id, false, now() + interval '25 hours');
  return null;
end
$$;

create trigger record_client_deleted after delete on clients for each row execute function record_client_deleted();

-- A client registered under the client_id of a deleted one: that client's event is lifted, so its old grants get events of their own.
create function record_client_returned() returns trigger language plpgsql as $$
begin
  if exists (select 1 from revocation_events where kind = 'client' and key = new.client_id) then
    perform record_revocation('grant', grants.id::text, false, now() + interval '25 hours')
      from grants where grants.client_id = new.client_id and grants.revoked_at > now() - interval '25 hours'
        and not exists (select 1 from revocation_events earlier where earlier.kind = 'grant' and earlier.key = grants.id::text);
    perform record_revocation('client', new.client_id, new.enabled, now() + interval '25 hours');
  end if;
  return null;
end
$$;

create trigger record_client_returned after insert on clients for each row execute function record_client_returned();

create function record_user_changed() returns trigger language plpgsql as $$
begin
  perform record_revocation('user', new.id::text, new.enabled, now() + interval '25 hours');
  return null;
end
$$;

create trigger record_user_changed after update of enabled on users
  for each row when (old.enabled <> new.enabled) execute function record_user_changed();

create function record_user_deleted() returns trigger language plpgsql as $$
begin
  perform record_revocation('user', old.id::text, false, now() + interval '25 hours');
  return null;
end
$$;

create trigger record_user_deleted after delete on users for each row execute function record_user_deleted();

-- The key of a pause: the agent, or the agent and the user. A client_id holds no control character (core/revocation-digest.ts).
create function record_agent_paused() returns trigger language plpgsql as $$
begin
  perform record_revocation('agent', new.agent || coalesce(E'\n' || new.user_id::text, ''), false, now() + interval '25 hours');
  return null;
end
$$;

create trigger record_agent_paused after insert on agent_pauses for each row execute function record_agent_paused();

create function record_agent_resumed() returns trigger language plpgsql as $$
begin
  perform record_revocation('agent', old.agent || coalesce(E'\n' || old.user_id::text, ''), true, now() + interval '25 hours');
  return null;
end
$$;

create trigger record_agent_resumed after delete on agent_pauses for each row execute function record_agent_resumed();

-- Audit records may be added, and sealed once. The owner of the tables can drop the triggers; the chain shows what was done then.
create function audit_is_append_only() returns trigger language plpgsql as $$
begin
  raise exception 'the audit trail is append-only' using errcode = 'restrict_violation';
end
$$;

-- The condition is part of the trigger, so that sealing, the one change that is allowed, calls no function. It names every column but those
-- of the seal.
create trigger audit_records_append_only before update on audit_records for each row
  when (
    old.seq is not null or new.seq is null or
    row(old.id, old.at, old.event, old.outcome, old.reason, old.actor_type, old.actor_id, old.user_id, old.client_id, old.grant_type, old.scope,
        old.resources, old.jti, old.grant_id, old.act_chain, old.address, old.request_id, old.rule, old.error, old.repeats)
      is distinct from
    row(new.id, new.at, new.event, new.outcome, new.reason, new.actor_type, new.actor_id, new.user_id, new.client_id, new.grant_type, new.scope,
        new.resources, new.jti, new.grant_id, new.act_chain, new.address, new.request_id, new.rule, new.error, new.repeats))
  execute function audit_is_append_only();

create trigger audit_records_not_deleted before delete on audit_records
  for each row execute function audit_is_append_only();

create trigger audit_records_not_emptied before truncate on audit_records
  for each statement execute function audit_is_append_only();

create trigger audit_checkpoints_append_only before update or delete on audit_checkpoints
  for each row execute function audit_is_append_only();

create trigger audit_checkpoints_not_emptied before truncate on audit_checkpoints
  for each statement execute function audit_is_append_only();

-- The default realm, and the client to which login token sets belong.
insert into realms (id, name) values ('00000000-0000-7000-8000-000000000001', 'default');

insert into clients (id, client_id, realm_id, origin, name, redirect_uris, scopes, grant_types, response_types, token_endpoint_auth_method)
  values ('00000000-0000-7000-8000-000000000002', 'countersign', '00000000-0000-7000-8000-000000000001', 'built_in', 'Countersign',
          '{}', '{openid,profile,email}', '{refresh_token}', '{}', 'none');
