import { Migration } from "@mikro-orm/migrations";

/**
 * Clients that are known by their metadata documents. A code and its grant keep the client as the document described it, for it has no row
 * of its own; a consent keeps what of the document it was given for.
 */
export class MetadataDocuments extends Migration {
  override up(): void {
    this.addSql("alter table authorization_codes add column document_client jsonb");
    this.addSql("alter table grants add column document_client jsonb");
    this.addSql("alter table consents add column client_mark text");
  }
}
