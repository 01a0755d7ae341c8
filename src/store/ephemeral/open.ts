import type { Log } from "../../telemetry/log.ts";
import { type Ephemeral, memoryEphemeral } from "./memory.ts";

/** Rates and caches in Redis if its URL is set, else in this process. */
export async function openEphemeral(url: string | undefined, deployment: string, log: Pick<Log, "info" | "warn">): Promise<Ephemeral> {
  if (url === undefined) return memoryEphemeral();
  const { redisEphemeral } = await import("./redis.ts");
  return redisEphemeral(url, deployment, log);
}
