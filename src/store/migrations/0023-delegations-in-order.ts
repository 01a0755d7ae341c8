import { Migration } from "@mikro-orm/migrations";

/** Delegations are listed in the order in which they were made; their ids, which agents carry, tell it to the second only. */
export class DelegationsInOrder extends Migration {
  override up(): void {
    this.addSql("create index delegations_created_at_index on delegations (created_at, id)");
  }
}
