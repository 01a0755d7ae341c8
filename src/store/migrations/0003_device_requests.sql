create table device_requests (
  id uuid not null primary key default uuid_v7(),
  device_code_hash bytea not null constraint device_requests_device_code_hash_unique unique,
  user_code_hash bytea not null constraint device_requests_user_code_hash_unique unique,
  client_id text not null,
  scopes text[] not null,
  resources text[] not null,
  document_client jsonb,
  address text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  poll_interval integer not null,
  polled_at timestamptz,
  denied_at timestamptz
);

create index device_requests_expires_at_index on device_requests (expires_at);
