/** @see RFC 9562 §5.7 and §6.2, method 3: the twelve bits after the version are the fraction of the millisecond, so that ids are in order. */
const uuidV7 = `create function uuid_v7() returns uuid language sql volatile parallel safe as $$
  select encode(
    substring(int8send(micros / 1000) from 3)
      || substring(int4send((28672 + micros % 1000 * 4096 / 1000)::int) from 3)
      || substring(uuid_send(gen_random_uuid()) from 9),
    'hex')::uuid
  from (select (extract(epoch from clock_timestamp()) * 1000000)::bigint as micros) as moment
$$`;

/**
 * A statement calls it when the deadline of its call has passed, so that the whole of it is undone. 57014 is what a statement timeout raises
 * too: the caller is answered that the service is unavailable, and nothing was written.
 */
const refuseLate = `create function refuse_late() returns boolean language plpgsql as $$
begin
  raise exception 'the deadline of the call has passed' using errcode = '57014';
end
$$`;

/** Created before the tables. */
export const functions = [uuidV7, refuseLate];
