-- The metadata documents of clients that users allowed something, as they were fetched; the newest 20 of each (docs/client-documents.md#history).
create table client_documents (
  client_id text not null,
  version integer not null,
  digest bytea not null,
  document text not null,
  created_at timestamptz not null default now(),
  seen_at timestamptz not null default now(),
  constraint client_documents_pkey primary key (client_id, version)
);

create index client_documents_seen_at_index on client_documents (seen_at);
