import { Migration } from "@mikro-orm/migrations";

/** @see RFC 9562 §5.7 and §6.2, method 3: the twelve bits after the version tell the fraction of the millisecond. */
const uuidV7 = `create or replace function uuid_v7() returns uuid language sql volatile parallel safe as $$
  select encode(
    substring(int8send(micros / 1000) from 3)
      || substring(int4send((28672 + micros % 1000 * 4096 / 1000)::int) from 3)
      || substring(uuid_send(gen_random_uuid()) from 9),
    'hex')::uuid
  from (select (extract(epoch from clock_timestamp()) * 1000000)::bigint as micros) as moment
$$`;

/** Ids that the database gives are in the order of what they were given to, within a millisecond too: lists are sorted by them. */
export class IdsInOrder extends Migration {
  override up(): void {
    this.addSql(uuidV7);
  }
}
