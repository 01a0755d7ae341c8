-- The orders of further lists. Operators add these records one by one, so a search reads the rows; assignments of workloads may be many.
create index realms_name_index on realms (lower("left"(name, 100)), id);

create index resources_resource_index on resources (realm_id, resource collate "C", id);

create index resources_name_index on resources (realm_id, lower("left"(name, 100)), id);

create index resources_realm_index on resources (realm_id, id);

create index connections_name_index on connections (realm_id, name collate "C", id);

create index connections_realm_index on connections (realm_id, id);

create index workload_issuers_issuer_index on workload_issuers (issuer collate "C", id);

create index workload_identities_order_index on workload_identities ("left"(subject, 100) collate "C", id);

create index workload_identities_issuer_index on workload_identities (issuer_id, id);

create index workload_identities_issuer_order_index on workload_identities (issuer_id, "left"(subject, 100) collate "C", id);

do $$
begin
  if exists (select from pg_extension where extname = 'pg_trgm') then
    create index workload_identities_search_index on workload_identities using gin (subject gin_trgm_ops);
  end if;
exception when others then
  raise warning 'a search has no index: %', sqlerrm;
end $$;

-- Names a description in the cursor of its list.
alter table scope_descriptions add column id uuid not null default uuid_v7();

create index scope_descriptions_name_index on scope_descriptions (realm_id, name collate "C", id);
