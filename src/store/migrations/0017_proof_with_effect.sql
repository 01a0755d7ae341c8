-- Uses up a proof of possession in the statement of an effect (docs/protocol.md#proof-of-possession). If it was used before, all of the
-- statement is undone. `proof` has the hash of its identifier (`id`, hexadecimal) and the seconds for which it is remembered (`ttl`).
create function use_proof(proof jsonb) returns boolean language plpgsql as $$
begin
  insert into consumed_ids (kind, id_hash, expires_at)
  values ('dpop_proof', decode(proof ->> 'id', 'hex'), now() + make_interval(secs => (proof ->> 'ttl')::int))
  on conflict (kind, id_hash) do nothing;
  if not found then
    raise exception 'the proof of possession was used before' using errcode = 'CSP01';
  end if;
  return true;
end
$$;
