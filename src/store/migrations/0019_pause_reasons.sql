-- Why an operator paused an agent, on the pause and in the log.
alter table agent_pauses add column reason text;

alter table audit_records add column note text;

drop trigger audit_records_append_only on audit_records;

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
