import { Migration } from "@mikro-orm/migrations";

const statements = [
  "alter table audit_records add column rule text, add column error text",
  // Refusals are few; what is granted need not be found by its request.
  "create index audit_records_refused_request_index on audit_records (request_id) where outcome = 'failure'",
];

/** A record of a refusal says which rule did not hold and what was answered, and is found by the id of its request. */
export class RefusedRequests extends Migration {
  override up(): void {
    for (const statement of statements) this.addSql(statement);
  }
}
