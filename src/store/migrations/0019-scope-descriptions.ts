import { Migration } from "@mikro-orm/migrations";

/** What scopes allow, in the operators' words for people; what nobody describes has the built-in words or its name. */
export class ScopeDescriptions extends Migration {
  override up(): void {
    this.addSql(`create table scope_descriptions (
      realm_id uuid not null constraint scope_descriptions_realm_id_foreign references realms (id) on delete cascade,
      name text not null,
      title jsonb not null,
      detail jsonb not null,
      created_at timestamptz not null default now(),
      updated_at timestamptz null,
      primary key (realm_id, name)
    )`);
  }
}
