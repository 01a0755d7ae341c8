-- The client of the command line: users are asked each time, because any program on a device can listen where it redirects to.
insert into clients (id, client_id, realm_id, origin, name, redirect_uris, scopes, grant_types, response_types, token_endpoint_auth_method)
  values ('00000000-0000-7000-8000-000000000003', 'countersign-cli', '00000000-0000-7000-8000-000000000001', 'built_in',
          'countersign command line', '{"http://127.0.0.1/callback"}', '{openid,email,server:manage}',
          '{authorization_code,refresh_token,urn:ietf:params:oauth:grant-type:device_code}', '{code}', 'none');

-- Changes of an account's address: asked for, then confirmed by a link to the new address. A link to the former one stops or undoes them.
create table address_changes (
  id uuid not null default uuid_v7() primary key,
  user_id uuid not null constraint address_changes_user_id_foreign references users (id) on delete cascade,
  token_hash bytea not null constraint address_changes_token_hash_unique unique,
  stop_hash bytea constraint address_changes_stop_hash_unique unique,
  email text not null,
  former_email text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  confirmed_at timestamptz,
  stop_until timestamptz not null
);

create index address_changes_user_id_index on address_changes (user_id);

create index address_changes_stop_until_index on address_changes (stop_until);

create unique index address_changes_waiting_unique on address_changes (user_id) where confirmed_at is null;
