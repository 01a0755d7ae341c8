import { Migration } from "@mikro-orm/migrations";

/** 57014 is what a statement timeout raises too: the caller is answered that the service is unavailable, and nothing was written. */
const refuseLate = `create function refuse_late() returns boolean language plpgsql as $$
begin
  raise exception 'the deadline of the call has passed' using errcode = '57014';
end
$$`;

/** What a statement calls when the deadline of its call has passed, so that the whole of it is undone. */
export class LateEffects extends Migration {
  override up(): void {
    this.addSql(refuseLate);
  }
}
