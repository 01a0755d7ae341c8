import { Migration } from "@mikro-orm/migrations";

const statements = [
  "alter table consents add column allowed jsonb not null default '{}'",
  `update consents set allowed = (
     select jsonb_object_agg(place, to_jsonb(scopes))
     from unnest(case when cardinality(resources) = 0 then array[''] else resources end) as place)`,
];

/** A consent says which scopes were allowed at which resources, for what is allowed at one says nothing about another. */
export class ConsentsByPlace extends Migration {
  override up(): void {
    for (const statement of statements) this.addSql(statement);
  }
}
