import type { Client, Environment } from "./client.ts";

/** The environment whose rules bind a client; who was given none is held to the strictest (specification §5). */
export const environmentOf = (client: Pick<Client, "environment">): Environment => client.environment ?? "production";

/** Whether static API keys of a client can be made and are accepted: in development alone (specification §4.4, §5). */
export const mayHoldApiKey = (client: Pick<Client, "environment">): boolean => environmentOf(client) === "development";
