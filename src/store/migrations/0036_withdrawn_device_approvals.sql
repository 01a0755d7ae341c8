-- The code of an approved device request that is dropped unused: consent, session, user or client have ended. The request would wait for a decision
-- again, and its user code would be accepted once more.
create function deny_device() returns trigger language plpgsql as $$
begin
  update device_requests set denied_at = now() where device_code_hash = old.code_hash and denied_at is null;
  return null;
end
$$;

create trigger deny_device after delete on authorization_codes
  for each row when (old.grant_id is null and old.redirect_uri = '') execute function deny_device();
