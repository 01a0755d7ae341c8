-- A stream of revocations ends when its caller's secret is replaced or taken away, as when the client is disabled. The event says that the
-- client is as enabled as before.
drop trigger record_client_changed on clients;

create trigger record_client_changed after update of enabled, secret_hash on clients
  for each row when (old.enabled <> new.enabled or old.secret_hash is distinct from new.secret_hash) execute function record_client_changed();
