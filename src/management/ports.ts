import type { ProvisionFile } from "./provision.ts";

export interface ProvisionCounts {
  readonly created: number;
  readonly changed: number;
  readonly unchanged: number;
}

export type ProvisionSummary = Readonly<Record<"realms" | "users" | "clients", ProvisionCounts>>;

export interface Provisioner {
  /**
   * Brings realms, users and clients to what the file says, in one transaction; deletes nothing, and changes nothing when all is so already.
   * @throws {Refusal} invalid_request when an `ownerEmail` belongs to nobody
   */
  apply(file: ProvisionFile): Promise<ProvisionSummary>;
}
