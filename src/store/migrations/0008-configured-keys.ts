import { Migration } from "@mikro-orm/migrations";

/**
 * When a core last had a key in its configuration. A key that is published ahead of its use, or kept for verifying alone, is in use by nobody
 * and yet to be served; and one that was withdrawn and comes back has to be published anew before it signs.
 */
export class ConfiguredKeys extends Migration {
  override up(): void {
    this.addSql("alter table signing_keys add column configured_at timestamptz");
  }
}
