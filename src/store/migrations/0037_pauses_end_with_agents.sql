-- A pause is one of an agent: it ends when its client is no agent any more, or is deleted. Another client of that name is not paused.
create function end_agent_pauses() returns trigger language plpgsql as $$
begin
  delete from agent_pauses where agent = old.client_id;
  return null;
end
$$;

create trigger end_agent_pauses_of_former after update of is_agent on clients
  for each row when (old.is_agent and not new.is_agent) execute function end_agent_pauses();

create trigger end_agent_pauses_of_deleted after delete on clients
  for each row when (old.is_agent) execute function end_agent_pauses();

delete from agent_pauses where not exists (select 1 from clients where clients.client_id = agent_pauses.agent and clients.is_agent);
