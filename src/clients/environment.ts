import type { Client, Environment } from "./client.ts";

/** The environment whose rules apply to a client: production unless it has another (docs/protocol.md#environments). */
export const environmentOf = (client: Pick<Client, "environment">): Environment => client.environment ?? "production";

/** Whether static API keys of a client can be created and are accepted: only in development (docs/protocol.md#api-keys). */
export const mayHoldApiKey = (client: Pick<Client, "environment">): boolean => environmentOf(client) === "development";
