import type { ManagementOutputs } from "../../api/client.ts";

/** The record of a resource, as operators see it. */
export type Resource = ManagementOutputs["operator"]["resources"]["get"];
