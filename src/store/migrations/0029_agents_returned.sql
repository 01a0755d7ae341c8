-- A client registered under the client_id of a deleted one: that client's event is lifted, so its old grants get events of their own, and
-- what it held as an agent is cut. The order is that of cuts (docs/decisions/0014).
create or replace function record_client_returned() returns trigger language plpgsql as $$
begin
  if exists (select 1 from revocation_events where kind = 'client' and key = new.client_id) then
    perform record_revocation('grant', grants.id::text, false, now() + interval '25 hours')
      from grants where grants.client_id = new.client_id and grants.revoked_at > now() - interval '25 hours'
        and not exists (select 1 from revocation_events earlier where earlier.kind = 'grant' and earlier.key = grants.id::text);
    update delegations set cut_at = now() where id in (
      select id from delegations where cut_at is null and actor = new.client_id and expires_at > now() order by path for no key update);
    perform record_revocation('client', new.client_id, new.enabled, now() + interval '25 hours');
  end if;
  return null;
end
$$;
