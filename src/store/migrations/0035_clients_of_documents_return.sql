-- The events of a client_id that is in use again: its own, and those of grants that ended while that of the deleted client stood for them.
create function record_client_known(text, boolean) returns void language sql as $$
  select record_revocation('grant', grants.id::text, false, now() + interval '25 hours')
    from grants where grants.client_id = $1 and grants.revoked_at > now() - interval '25 hours'
      and not exists (select 1 from revocation_events earlier where earlier.kind = 'grant' and earlier.key = grants.id::text);
  select record_revocation('client', $1, $2, now() + interval '25 hours')
$$;

-- A disabled client shuts out that of a metadata document with its client_id, which may hold tokens.
create or replace function record_client_returned() returns trigger language plpgsql as $$
begin
  if not new.enabled or exists (select 1 from revocation_events where kind = 'client' and key = new.client_id) then
    perform record_client_known(new.client_id, new.enabled);
  end if;
  return null;
end
$$;

-- When the client that shut it out is deleted, the client of a document returns with its first code, before it has a token.
create function record_document_returned() returns trigger language plpgsql as $$
begin
  if (select not lifted from revocation_events where kind = 'client' and key = new.client_id order by id desc limit 1)
    and not exists (select 1 from removals where kind = 'client_deleted' and key = new.client_id) then
    perform record_client_known(new.client_id, true);
  end if;
  return null;
end
$$;

create trigger record_document_returned after insert on authorization_codes
  for each row when (new.document_client is not null) execute function record_document_returned();
