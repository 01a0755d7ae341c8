import type { ManagementOutputs } from "../../api/client.ts";

/** A client as its owner sees it, with what only operators see. */
export type ClientRecord = ManagementOutputs["clients"]["get"] & Partial<ManagementOutputs["operator"]["clients"]["get"]>;
export type ClientActs = ManagementOutputs["viewer"]["client"]["can"];

export interface ClientPart {
  readonly client: ClientRecord;
  readonly can: ClientActs;
}
