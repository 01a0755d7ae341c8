create table figures (
  client_id text not null,
  span text not null constraint figures_span_check check (span in ('hour', 'day')),
  starts_at timestamptz not null,
  realm_id uuid not null,
  kind text not null constraint figures_kind_check check (kind in ('issued', 'refused', 'replayed', 'raced')),
  reason text not null,
  n bigint not null,
  constraint figures_pkey primary key (client_id, span, starts_at, realm_id, kind, reason)
);

create index figures_starts_at_index on figures (span, starts_at);
