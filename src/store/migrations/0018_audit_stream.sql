-- How far the audit trail was handed over to the receiver at AUDIT_STREAM, and which process sends (docs/audit.md#sending-it-elsewhere).
create table audit_stream (
  name text not null primary key,
  seq bigint not null default 0,
  holder uuid,
  leased_until timestamptz not null default now()
);

insert into audit_stream (name) values ('AUDIT_STREAM');
