-- Accounts for a company: the role of users who make no clients.
alter table users drop constraint users_role_check;

alter table users add constraint users_role_check check (role in ('user', 'developer', 'operator'));

-- Links by which users open an account: those whom an operator invited, and the first operator (without an address; its key is empty).
create table invitations (
  id uuid not null default uuid_v7() primary key,
  token_hash bytea not null constraint invitations_token_hash_unique unique,
  email text,
  email_key text not null constraint invitations_email_key_unique unique,
  role text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);

create index invitations_expires_at_index on invitations (expires_at);
