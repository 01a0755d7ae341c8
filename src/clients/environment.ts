import type { Client, Environment } from "./client.ts";

/** The environment whose rules bind a client; who was given none is held to the strictest (docs/protocol.md#environments). */
export const environmentOf = (client: Pick<Client, "environment">): Environment => client.environment ?? "production";

/** Whether static API keys of a client can be made and are accepted: in development alone (docs/protocol.md#api-keys, docs/protocol.md#environments). */
export const mayHoldApiKey = (client: Pick<Client, "environment">): boolean => environmentOf(client) === "development";
