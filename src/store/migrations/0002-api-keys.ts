import { Migration } from "@mikro-orm/migrations";

const statements = [
  `create table api_keys (
    id uuid not null default uuid_v7() primary key,
    client_id uuid not null constraint api_keys_client_id_foreign references clients (id) on delete cascade,
    name text not null,
    prefix text not null,
    last4 text not null,
    key_hash bytea not null constraint api_keys_key_hash_unique unique,
    created_at timestamptz not null default now(),
    last_used_at timestamptz,
    revoked_at timestamptz
  )`,
  "create index api_keys_client_id_index on api_keys (client_id)",
  // The end of a client ends what was given to it.
  "create index grants_client_id_index on grants (client_id)",
  "create index consents_client_id_index on consents (client_id)",
];

export class ApiKeys extends Migration {
  override up(): void {
    for (const statement of statements) this.addSql(statement);
  }
}
