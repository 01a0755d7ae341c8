-- Passkeys: public keys (WebAuthn) with which users sign in. Tables of their own, so that the previous release still finds one row of
-- credentials for each user and type.
create table passkeys (
  id uuid not null default uuid_v7() primary key,
  user_id uuid not null constraint passkeys_user_id_foreign references users (id) on delete cascade,
  credential_id bytea not null constraint passkeys_credential_id_unique unique,
  public_key bytea not null,
  counter bigint not null,
  transports text[] not null,
  backed_up boolean not null,
  aaguid text not null,
  name text not null,
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  copied_at timestamptz
);

create index passkeys_user_id_index on passkeys (user_id);

-- Authenticator apps (TOTP): a sealed secret, and the last time step that was used.
create table authenticator_apps (
  user_id uuid not null primary key constraint authenticator_apps_user_id_foreign references users (id) on delete cascade,
  secret text not null,
  last_step bigint not null default 0,
  created_at timestamptz not null default now(),
  confirmed_at timestamptz
);

create table recovery_codes (
  code_hash bytea not null primary key,
  user_id uuid not null constraint recovery_codes_user_id_foreign references users (id) on delete cascade,
  created_at timestamptz not null default now()
);

create index recovery_codes_user_id_index on recovery_codes (user_id);

-- Challenges of passkeys, and sign-ins that wait for a second factor. Each is used once.
create table proof_challenges (
  id_hash bytea not null primary key,
  kind text not null,
  user_id uuid constraint proof_challenges_user_id_foreign references users (id) on delete cascade,
  generation integer,
  holder text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  constraint proof_challenges_kind_check check (kind in ('passkey_sign_in', 'passkey_registration', 'second_factor'))
);

create index proof_challenges_expires_at_index on proof_challenges (expires_at);

create index proof_challenges_user_id_index on proof_challenges (user_id);

create index proof_challenges_holder_index on proof_challenges (holder, created_at);
