import { Migration } from "@mikro-orm/migrations";

/** The identity that a wallet proved is a pair: a subject means something within its issuer alone. No release has written a wallet's credential before. */
const statements = [
  "alter table credentials add column issuer text",
  "alter table credentials drop constraint credentials_type_subject_unique",
  "alter table credentials add constraint credentials_type_issuer_subject_unique unique (type, issuer, subject)",
  "alter table credentials drop constraint credentials_type_check",
  `alter table credentials add constraint credentials_type_check check (
    (type = 'password' and password_hash is not null) or (type = 'wallet' and issuer is not null and subject is not null))`,
];

export class WalletCredentials extends Migration {
  override up(): void {
    for (const statement of statements) this.addSql(statement);
  }
}
