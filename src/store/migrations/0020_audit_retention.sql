-- Where the audit trail begins (docs/audit.md#keeping-and-removing): records and checkpoints before this number were exported and may go.
create table audit_start (
  name text not null primary key,
  seq bigint not null default 0
);

insert into audit_start (name) values ('AUDIT_KEEP_DAYS');

-- Moves on only, and only to a record that a checkpoint signs: what is left proves that it begins there.
create function audit_start_is_signed() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' or new.seq < old.seq or not exists (select from audit_checkpoints where seq = new.seq) then
    raise exception 'the audit trail begins at a signed record, and never earlier than before' using errcode = 'restrict_violation';
  end if;
  return new;
end
$$;

create trigger audit_start_is_signed before update or delete on audit_start for each row execute function audit_start_is_signed();

create function audit_is_kept() returns trigger language plpgsql as $$
begin
  if exists (select from removed where removed.seq is null or removed.seq >= (select audit_start.seq from audit_start)) then
    raise exception 'the audit trail is append-only' using errcode = 'restrict_violation';
  end if;
  return null;
end
$$;

drop trigger audit_records_not_deleted on audit_records;

create trigger audit_records_not_deleted after delete on audit_records referencing old table as removed
  for each statement execute function audit_is_kept();

drop trigger audit_checkpoints_append_only on audit_checkpoints;

create trigger audit_checkpoints_append_only before update on audit_checkpoints
  for each row execute function audit_is_append_only();

create trigger audit_checkpoints_not_deleted after delete on audit_checkpoints referencing old table as removed
  for each statement execute function audit_is_kept();
