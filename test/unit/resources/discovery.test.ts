import { expect, test } from "vitest";
import { FetchFailure, type GuardedFetch } from "../../../src/clients/guarded-fetch.ts";
import { type DiscoveryPorts, resourceDiscovery } from "../../../src/resources/discovery.ts";

const RESOURCE = "http://localhost:4000/mcp";
const REALM = "00000000-0000-7000-8000-000000000001";

/** A discovery that finds nothing. */
function searching() {
  const asked: string[] = [];
  const time = { now: 1_000_000 };
  const ports = {
    issuer: "http://localhost:3000",
    fetch: {
      json: async (url: string) => {
        asked.push(url);
        throw new FetchFailure("unreachable");
      },
    } as unknown as Pick<GuardedFetch, "json">,
    resources: { of: async () => [] } as unknown as DiscoveryPorts["resources"],
    clock: () => time.now,
    log: { info: () => undefined, warn: () => undefined },
  } satisfies DiscoveryPorts;
  return { asked, time, discovery: resourceDiscovery(ports) };
}

test("a resource is looked up again after half a minute, and once the clock was set back", async () => {
  const { asked, time, discovery } = searching();
  const counts: number[] = [];
  for (const step of [0, 29, 1, -600, 29, 1]) {
    time.now += step;
    await discovery.discover(REALM, [RESOURCE]);
    counts.push(asked.length);
  }
  expect(counts).toEqual([1, 1, 2, 3, 3, 4]);
});
