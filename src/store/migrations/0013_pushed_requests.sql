-- Authorization requests that clients pushed (RFC 9126), and clients that must push theirs (§6).
create table pushed_requests (
  id_hash bytea not null primary key,
  client_id text not null,
  query text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  browser text,
  code_hash bytea
);

create index pushed_requests_expires_at_index on pushed_requests (expires_at);

alter table clients add column require_pushed_authorization_requests boolean not null default false;
