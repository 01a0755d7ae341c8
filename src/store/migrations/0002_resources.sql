-- Protected resources. A web URI without a path is stored without its root slash (resources/resource.ts).
create table resources (
  id uuid not null default uuid_v7() primary key,
  realm_id uuid not null constraint resources_realm_id_foreign references realms (id) on delete cascade,
  resource text not null,
  name text not null,
  scopes jsonb not null,
  clients text[] not null,
  access_token_lifetime integer,
  enabled boolean not null default true,
  origin text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz,
  constraint resources_resource_realm_id_unique unique (resource, realm_id),
  constraint resources_origin_check check (origin in ('operator', 'file', 'discovered')),
  constraint resources_clients_check check (clients <@ array['registered', 'document', 'named']),
  constraint resources_access_token_lifetime_check check (access_token_lifetime > 0)
);
