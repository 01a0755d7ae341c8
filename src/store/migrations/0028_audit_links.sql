-- A record of the audit trail is written once; its place in the chain is a row of its own, audit_links, which sealing fills in
-- (docs/decisions/0011). Both are partitioned by the same ranges of ids. Nobody seals or adds ranges until this is committed: these are the locks of both.
select pg_advisory_xact_lock(7235107483), pg_advisory_xact_lock(7235107485);

create table audit_links (
  id uuid not null primary key,
  seq bigint,
  hash bytea,
  constraint audit_links_seal_check check ((seq is null) = (hash is null))
) partition by range (id);

create index audit_links_waiting_index on audit_links (id) where seq is null;

-- As for records: a partition has what its rows need; the triggers that statements have are those of the table they name.
do $$
declare
  records record;
  links text;
begin
  for records in
    select child.relname as name, pg_get_expr(child.relpartbound, child.oid) as bound
    from pg_inherits join pg_class child on child.oid = inhrelid where inhparent = 'audit_records'::regclass
  loop
    links := replace(records.name, 'audit_records', 'audit_links');
    execute format('create table %I (like audit_links including defaults including constraints)', links);
    execute format('alter table %I add constraint %I unique (seq)', links, links || '_seq_unique');
    execute format('alter table audit_links attach partition %I %s', links, records.bound);
  end loop;
end
$$;

insert into audit_links (id, seq, hash) select id, seq, hash from audit_records where seq is not null;

-- From here on requests wait, for the few records that are not sealed yet.
lock table audit_records in access exclusive mode;

insert into audit_links (id) select id from audit_records where seq is null;

-- A limit (docs/decisions/0020) is set again, for both tables.
do $$
declare
  name text;
begin
  for name in select inhrelid::regclass::text from pg_inherits where inhparent = 'audit_records'::regclass loop
    execute format('alter table %s drop constraint if exists audit_records_limit', name);
  end loop;
end
$$;

create function link_audit_records() returns trigger language plpgsql as $$
begin
  insert into audit_links (id) select id from added;
  return null;
end
$$;

create trigger audit_records_linked after insert on audit_records referencing new table as added
  for each statement execute function link_audit_records();

drop trigger audit_records_append_only on audit_records;

create trigger audit_records_append_only before update on audit_records
  for each row execute function audit_is_append_only();

create trigger audit_links_append_only before update on audit_links for each row
  when (old.seq is not null or new.seq is null or old.id <> new.id)
  execute function audit_is_append_only();

-- Two functions instead of audit_is_kept: a process of an earlier release would add ranges for records alone, and fails by the missing name.
create function audit_numbers_are_kept() returns trigger language plpgsql as $$
begin
  if exists (select from removed where removed.seq is null or removed.seq >= (select audit_start.seq from audit_start)) then
    raise exception 'the audit trail is append-only' using errcode = 'restrict_violation';
  end if;
  return null;
end
$$;

-- A record may go with its link, or after it.
create function audit_trail_is_kept() returns trigger language plpgsql as $$
begin
  if exists (
    select from removed join audit_links on audit_links.id = removed.id
    where audit_links.seq is null or audit_links.seq >= (select audit_start.seq from audit_start))
  then
    raise exception 'the audit trail is append-only' using errcode = 'restrict_violation';
  end if;
  return null;
end
$$;

-- Also of partitions that were detached and kept.
do $$
declare
  former record;
  name text;
begin
  for former in
    select tgname as name, tgrelid::regclass as relation,
      case tgrelid when 'audit_checkpoints'::regclass then 'audit_numbers_are_kept' else 'audit_trail_is_kept' end as keeps
    from pg_trigger where tgfoid = 'audit_is_kept'::regproc
  loop
    execute format('drop trigger %I on %s', former.name, former.relation);
    execute format(
      'create trigger %I after delete on %s referencing old table as removed for each statement execute function %I()',
      former.name, former.relation, former.keeps);
  end loop;
  for name in
    select 'audit_links' union all select inhrelid::regclass::text from pg_inherits where inhparent = 'audit_links'::regclass
  loop
    execute format(
      'create trigger audit_links_not_deleted after delete on %s referencing old table as removed
         for each statement execute function audit_numbers_are_kept()', name);
    execute format(
      'create trigger audit_links_not_emptied before truncate on %s for each statement execute function audit_is_append_only()', name);
  end loop;
end
$$;

drop function audit_is_kept;

-- Their constraints and indexes go with them.
alter table audit_records drop column seq, drop column hash;
