import { LRUCache } from "lru-cache";
import type { GuardedFetch } from "../clients/guarded-fetch.ts";
import { type Clock, secondsSince } from "../clock.ts";
import { singleFlight } from "../load-once.ts";
import { merged } from "../merged.ts";
import { isLoopbackHost, isWebResource, MAX_RESOURCES } from "../protocol/access.ts";
import type { Log } from "../telemetry/log.ts";
import { fetchMetadata } from "./metadata.ts";
import type { ResourceDirectory, ResourceRegistry } from "./ports.ts";
import { defaultSettings, mayHaveRecord, resourceKey } from "./resource.ts";

/** Seconds before a resource is looked up again, whatever it answered. */
const PAUSE = 30;
/** Look-ups in a minute, of all resources together. */
const PER_MINUTE = 60;
const REMEMBERED = 1_000;

export interface DiscoveryPorts {
  readonly issuer: string;
  readonly fetch: Pick<GuardedFetch, "json">;
  readonly resources: ResourceDirectory & ResourceRegistry;
  readonly clock: Clock;
  readonly log: Pick<Log, "info" | "warn">;
}

export type ResourceDiscovery = ReturnType<typeof resourceDiscovery>;

/** Whether a resource can be looked up: plain http on this machine, as servers in development are. */
const isLocal = (resource: string, issuer: string): boolean => {
  if (!/^http:/i.test(resource) || !isWebResource(resource) || !mayHaveRecord(resource, issuer)) return false;
  return isLoopbackHost(new URL(resource).hostname);
};

/**
 * Looks up unknown resources on this machine by their metadata. One whose document names this server as its authorization server becomes a
 * record that is open to all kinds of clients. In development only. Each resource is looked up at most once in PAUSE seconds.
 * @see RFC 9728 §3, docs/protocol.md#resource-discovery
 */
export function resourceDiscovery({ issuer, fetch, resources, clock, log }: DiscoveryPorts) {
  const lookedUp = new LRUCache<string, number>({ max: REMEMBERED });
  let minute = { begun: Number.NEGATIVE_INFINITY, lookUps: 0 };

  const mayLookUp = (key: string): boolean => {
    if (secondsSince(clock, lookedUp.get(key) ?? Number.NEGATIVE_INFINITY) < PAUSE) return false;
    if (secondsSince(clock, minute.begun) >= 60) minute = { begun: clock(), lookUps: 0 };
    minute.lookUps += 1;
    lookedUp.set(key, clock());
    return minute.lookUps <= PER_MINUTE;
  };

  const lookUp = singleFlight(async (resource: string, realmId: string): Promise<void> => {
    if (!mayLookUp(resource)) return;
    const found = await fetchMetadata(fetch, resource, issuer);
    if (typeof found === "string") {
      log.warn("resource_not_discovered", { resource, reason: found });
      return;
    }
    const { name, scopes } = found;
    const described = { name, scopes: scopes.map((scope) => ({ name: scope, title: {}, detail: {} })) };
    const record = { ...merged(defaultSettings(resource), described), realmId, resource, origin: "discovered" } as const;
    const actor = { type: "service", id: "resource-discovery" } as const;
    const added = await resources.add(record, { event: "resource.created", outcome: "success", actor });
    if (added !== undefined) log.info("resource_discovered", { resource, scope: scopes.join(" ") });
  });

  return {
    /** Never throws for what a resource answers: without a record the request goes on. */
    async discover(realmId: string, requested: readonly string[]): Promise<void> {
      const local = requested.slice(0, MAX_RESOURCES).filter((resource) => isLocal(resource, issuer));
      if (local.length === 0) return;
      const known = new Set((await resources.of(realmId, local)).map(({ resource }) => resource));
      const unknown = new Set(local.map(resourceKey).filter((resource) => !known.has(resource)));
      await Promise.all([...unknown].map((resource) => lookUp(resource, realmId)));
    },
  };
}
