-- Platforms whose tokens authenticate clients, and the identities on them that stand for a client (docs/workloads.md).
create table workload_issuers (
  id uuid not null default uuid_v7() primary key,
  issuer text not null constraint workload_issuers_issuer_unique unique,
  kind text not null,
  jwks_uri text,
  bundle_endpoint text,
  algorithms text[] not null,
  max_lifetime integer not null,
  single_use boolean not null,
  allow_private boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz,
  constraint workload_issuers_kind_check check (kind in ('oidc', 'kubernetes', 'spiffe'))
);

create table workload_identities (
  id uuid not null default uuid_v7() primary key,
  issuer_id uuid not null constraint workload_identities_issuer_id_foreign references workload_issuers (id) on delete cascade,
  client_id uuid not null constraint workload_identities_client_id_foreign references clients (id) on delete cascade,
  subject text not null,
  claims jsonb not null default '{}',
  created_at timestamptz not null default now()
);

create index workload_identities_client_id_index on workload_identities (client_id);

create index workload_identities_subject_index on workload_identities (issuer_id, subject);

-- One identity stands for one client. Claims may be too long for an index entry.
create unique index workload_identities_identity_unique on workload_identities (issuer_id, subject, hashtextextended(claims::text, 0));

alter table clients drop constraint clients_auth_method_check;

alter table clients add constraint clients_auth_method_check
  check (token_endpoint_auth_method in ('client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none', 'workload_jwt'));

-- The workload whose token a client used.
alter table audit_records add column workload_issuer text, add column workload_subject text;

drop trigger audit_records_append_only on audit_records;

create trigger audit_records_append_only before update on audit_records for each row
  when (
    old.seq is not null or new.seq is null or
    row(old.id, old.at, old.event, old.outcome, old.reason, old.actor_type, old.actor_id, old.user_id, old.client_id, old.grant_type, old.scope,
        old.resources, old.jti, old.grant_id, old.act_chain, old.address, old.request_id, old.rule, old.error, old.repeats,
        old.workload_issuer, old.workload_subject)
      is distinct from
    row(new.id, new.at, new.event, new.outcome, new.reason, new.actor_type, new.actor_id, new.user_id, new.client_id, new.grant_type, new.scope,
        new.resources, new.jti, new.grant_id, new.act_chain, new.address, new.request_id, new.rule, new.error, new.repeats,
        new.workload_issuer, new.workload_subject))
  execute function audit_is_append_only();
