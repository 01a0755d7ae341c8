import { Migration } from "@mikro-orm/migrations";

/** Where clients may send people after signing them out. */
export class SignOutAddresses extends Migration {
  override up(): void {
    this.addSql("alter table clients add column post_logout_redirect_uris text[] not null default '{}'");
  }
}
