import { Migration } from "@mikro-orm/migrations";

const statements = [
  "alter table audit_records add column repeats integer",
  `create table refused_exchanges (
    client_id text not null,
    address text not null,
    reason text not null,
    minute timestamptz not null,
    requests integer not null default 1,
    primary key (client_id, address, reason, minute)
  )`,
  "create index refused_exchanges_minute_index on refused_exchanges (minute)",
];

/** Token exchanges that were refused before their agent proved itself: the first of a minute has a record, the others are counted. */
export class RefusedExchanges extends Migration {
  override up(): void {
    for (const statement of statements) this.addSql(statement);
  }
}
