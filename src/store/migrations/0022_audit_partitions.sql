-- The audit trail in partitions (docs/decisions/0020): by ranges of ids, which begin with the time. The table so far becomes the default partition as
-- it is, without reading its rows; the process that removes records (AUDIT_KEEP_DAYS) adds the ranges. A number is unique within a partition, and
-- one sealer at a time gives numbers.
alter table audit_records rename to audit_records_first;

alter table audit_records_first rename constraint audit_records_pkey to audit_records_first_pkey;

alter table audit_records_first rename constraint audit_records_seq_unique to audit_records_first_seq_unique;

alter index audit_records_actor_index rename to audit_records_first_actor_index;

alter index audit_records_client_failure_index rename to audit_records_first_client_failure_index;

alter index audit_records_client_index rename to audit_records_first_client_index;

alter index audit_records_event_index rename to audit_records_first_event_index;

alter index audit_records_failure_index rename to audit_records_first_failure_index;

alter index audit_records_grant_index rename to audit_records_first_grant_index;

alter index audit_records_jti_index rename to audit_records_first_jti_index;

alter index audit_records_reason_index rename to audit_records_first_reason_index;

alter index audit_records_request_index rename to audit_records_first_request_index;

alter index audit_records_unsealed_index rename to audit_records_first_unsealed_index;

alter index audit_records_user_failure_index rename to audit_records_first_user_failure_index;

alter index audit_records_user_index rename to audit_records_first_user_index;

-- The rows of a partition have the trigger of the table, and statements those of what they name.
drop trigger audit_records_append_only on audit_records_first;

create table audit_records (
  like audit_records_first including defaults including constraints,
  constraint audit_records_pkey primary key (id)
) partition by range (id);

create index audit_records_actor_index on audit_records (actor_id, id);

create index audit_records_client_failure_index on audit_records (client_id, id) where outcome = 'failure' and client_id is not null;

create index audit_records_client_index on audit_records (client_id, id) where client_id is not null;

create index audit_records_event_index on audit_records (event, id);

create index audit_records_failure_index on audit_records (id) where outcome = 'failure';

create index audit_records_grant_index on audit_records (grant_id, id) where grant_id is not null;

create index audit_records_jti_index on audit_records using hash (jti) where jti is not null;

create index audit_records_reason_index on audit_records (reason, id) where reason is not null;

create index audit_records_request_index on audit_records using hash (request_id) where request_id is not null;

create index audit_records_unsealed_index on audit_records (id) where seq is null;

create index audit_records_user_failure_index on audit_records (user_id, id) where outcome = 'failure' and user_id is not null;

create index audit_records_user_index on audit_records (user_id, id) where user_id is not null;

alter table audit_records attach partition audit_records_first default;

create trigger audit_records_append_only before update on audit_records for each row
  when (
    old.seq is not null or new.seq is null or
    row(old.id, old.at, old.event, old.outcome, old.reason, old.actor_type, old.actor_id, old.user_id, old.client_id, old.grant_type, old.scope,
        old.resources, old.jti, old.grant_id, old.act_chain, old.address, old.request_id, old.rule, old.error, old.repeats,
        old.workload_issuer, old.workload_subject, old.note)
      is distinct from
    row(new.id, new.at, new.event, new.outcome, new.reason, new.actor_type, new.actor_id, new.user_id, new.client_id, new.grant_type, new.scope,
        new.resources, new.jti, new.grant_id, new.act_chain, new.address, new.request_id, new.rule, new.error, new.repeats,
        new.workload_issuer, new.workload_subject, new.note))
  execute function audit_is_append_only();

create trigger audit_records_not_deleted after delete on audit_records referencing old table as removed
  for each statement execute function audit_is_kept();

create trigger audit_records_not_emptied before truncate on audit_records
  for each statement execute function audit_is_append_only();
