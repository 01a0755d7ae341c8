import { Migration } from "@mikro-orm/migrations";

/** Requests that wait for a user are bounded by whose they are. */
export class PendingRequestHolders extends Migration {
  override up(): void {
    this.addSql("alter table pending_requests add column holder text not null default ''");
    this.addSql("create index pending_requests_holder_index on pending_requests (holder, created_at)");
  }
}
