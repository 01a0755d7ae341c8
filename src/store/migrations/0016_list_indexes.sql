create index clients_name_index on clients (lower("left"(name, 100)), id);

create index clients_last_used_index on clients ((coalesce(last_used_at, '-infinity')), id);

create index clients_origin_index on clients (origin, id);

create index clients_environment_index on clients (environment, id);

create index clients_agent_index on clients (id) where is_agent;

create index clients_disabled_index on clients (id) where not enabled;

create index users_realm_index on users (realm_id, id);

create index users_role_index on users (role, id);

create index users_disabled_index on users (id) where not enabled;

create index users_unverified_index on users (id) where not email_verified;

do $$
begin
  -- Searches of parts of words. Lists work without it, but read all rows; the embedded database has few.
  if exists (select from pg_available_extensions where name = 'pg_trgm') then
    create extension if not exists pg_trgm;
    create index clients_search_index on clients using gin (name gin_trgm_ops, client_id gin_trgm_ops);
    create index users_search_index on users using gin (email gin_trgm_ops, first_name gin_trgm_ops, last_name gin_trgm_ops);
  end if;
exception when others then
  raise warning 'searches have no index: %', sqlerrm;
end $$;
