import { Migration } from "@mikro-orm/migrations";

/** No access token lives longer than a day (settings); an hour more for clocks that differ. */
const LONGEST = "now() + interval '25 hours'";

/** What a mark of a pause is about: the agent, or the agent and the person. A client_id holds no control character (core/revocation-digest.ts). */
const key = (row: "new" | "old"): string => `${row}.agent || coalesce(E'\\n' || ${row}.user_id::text, '')`;

const marking = (name: string, event: string, row: "new" | "old", lifted: boolean): readonly string[] => [
  `create function ${name}() returns trigger language plpgsql as $$
   begin perform mark_revocation('agent', ${key(row)}, ${lifted}, ${LONGEST}); return null; end $$`,
  `create trigger ${name} after ${event} on agent_pauses for each row execute function ${name}()`,
];

/** Agents that may not act for now: for one person, or (without one) for anybody. */
const statements = [
  `create table agent_pauses (
    id uuid not null default uuid_v7() primary key,
    agent text not null,
    user_id uuid constraint agent_pauses_user_id_foreign references users (id) on delete cascade,
    paused_at timestamptz not null default now(),
    paused_by_type text not null,
    paused_by text not null
  )`,
  "create unique index agent_pauses_agent_user_id_unique on agent_pauses (agent, user_id) nulls not distinct",
  "create index agent_pauses_user_id_index on agent_pauses (user_id)",
  "alter table revocation_marks drop constraint revocation_marks_kind_check",
  "alter table revocation_marks add constraint revocation_marks_kind_check check (kind in ('jti', 'grant', 'client', 'user', 'agent'))",
  ...marking("mark_agent_paused", "insert", "new", false),
  ...marking("mark_agent_resumed", "delete", "old", true),
];

export class AgentPauses extends Migration {
  override up(): void {
    for (const statement of statements) this.addSql(statement);
  }
}
