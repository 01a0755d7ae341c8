-- The client_id of a deleted client can return, and its event is lifted then. What the deleted one got in its own name ends with its record,
-- which those tokens name as a user's token names its grant.
create or replace function record_client_deleted() returns trigger language plpgsql as $$
begin
  perform record_revocation('client', old.client_id, false, now() + interval '25 hours');
  perform record_revocation('grant', old.id::text, false, now() + interval '25 hours');
  return null;
end
$$;
