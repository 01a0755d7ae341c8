-- Which refused token requests named which resource that has a record, written as the audit log is sealed (docs/protocol.md#refusals-of-a-resource).
create table resource_refusals (
  realm_id uuid not null,
  resource text not null,
  record_id uuid not null,
  at timestamptz not null,
  constraint resource_refusals_pkey primary key (realm_id, resource, record_id)
);

create index resource_refusals_at_index on resource_refusals (at);
