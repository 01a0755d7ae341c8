import { Migration } from "@mikro-orm/migrations";

/**
 * Mails know whose they are, what they are about and when they become pointless: a link that has expired is not sent, a newer one takes the
 * place of one that still waits, and what waits goes with the account.
 */
export class MailEnds extends Migration {
  override up(): void {
    this.addSql("alter table outbox add column user_id uuid constraint outbox_user_id_foreign references users (id) on delete cascade");
    this.addSql("alter table outbox add column about text not null default 'notice'");
    this.addSql("alter table outbox add constraint outbox_about_check check (about in ('verification', 'reset', 'notice'))");
    this.addSql("alter table outbox add column expires_at timestamptz not null default now() + interval '24 hours'");
    this.addSql("create index outbox_user_id_index on outbox (user_id)");
  }
}
