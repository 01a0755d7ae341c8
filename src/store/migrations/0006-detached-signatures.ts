import { Migration } from "@mikro-orm/migrations";

/** Post-quantum signatures of access tokens, which introspection hands out. Their bytes are as good as random: to compress them is wasted. */
export class DetachedSignatures extends Migration {
  override up(): void {
    this.addSql(
      "create table detached_signatures (jti text not null, alg text not null, signature bytea not null, expires_at timestamptz not null, primary key (jti))",
    );
    this.addSql("alter table detached_signatures alter column signature set storage external");
    this.addSql("create index detached_signatures_expires_at_index on detached_signatures (expires_at)");
  }
}
