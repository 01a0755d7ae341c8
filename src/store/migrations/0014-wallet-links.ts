import { Migration } from "@mikro-orm/migrations";

/** Links to wallets on their way. The secrets of a link (its handle, the state of its request, what a wallet brings back) are kept as hashes. */
const statements = [
  `create table wallet_links (
    handle_hash bytea not null primary key,
    state_hash bytea not null constraint wallet_links_state_hash_unique unique,
    return_hash bytea constraint wallet_links_return_hash_unique unique,
    user_id uuid not null constraint wallet_links_user_id_foreign references users (id) on delete cascade,
    session_id uuid not null,
    same_device boolean not null,
    state text not null default 'pending' constraint wallet_links_state_check
      check (state in ('pending', 'answered', 'presented', 'linked', 'conflict', 'expired', 'rejected')),
    reason text,
    issuer text,
    subject text,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    constraint wallet_links_identity_check check ((state = 'presented') = (subject is not null) and (issuer is null) = (subject is null))
  )`,
  "create index wallet_links_user_id_index on wallet_links (user_id)",
  "create index wallet_links_expires_at_index on wallet_links (expires_at)",
];

export class WalletLinks extends Migration {
  override up(): void {
    for (const statement of statements) this.addSql(statement);
  }
}
