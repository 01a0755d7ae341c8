import { randomUUID } from "node:crypto";
import type { LookupAddress } from "node:dns";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { authenticationThrottle, FAILURES } from "../../src/clients/throttle.ts";
import { systemClock } from "../../src/clock.ts";
import { type Ephemeral, memoryEphemeral } from "../../src/store/ephemeral/memory.ts";
import { redisEphemeral } from "../../src/store/ephemeral/redis.ts";
import { createLog } from "../../src/telemetry/log.ts";
import { wireTo } from "../support/wire.ts";

const { TEST_REDIS_URL } = process.env;

const until = (holds: () => Promise<boolean>) => vi.waitFor(async () => expect(await holds()).toBe(true), 20_000);

const kinds = [
  { name: "memory", open: memoryEphemeral },
  ...(TEST_REDIS_URL === undefined ? [] : [{ name: "redis", open: () => redisEphemeral(TEST_REDIS_URL) }]),
];

describe.for(kinds)("rate limits and texts in $name", ({ open }) => {
  let ephemeral: Ephemeral;
  beforeAll(async () => {
    ephemeral = open();
    await until(() => ephemeral.ping());
  });
  afterAll(() => ephemeral.close());

  test("64 parallel calls: exactly the limit succeeds, and the others get the seconds to wait", async () => {
    const limiter = ephemeral.rateLimiter(`test-${randomUUID()}`, { points: 10, seconds: 60 });
    const waits = await Promise.all(Array.from({ length: 64 }, () => limiter.hit("192.0.2.1")));
    expect(waits.filter((wait) => wait === 0)).toHaveLength(10);
    expect(waits.filter((wait) => wait > 0).every((wait) => Number.isInteger(wait) && wait <= 60)).toBe(true);
    expect(await limiter.hit("192.0.2.2")).toBe(0);
  });

  test("a text is stored until its expiry, under its namespace and key", async () => {
    const [one, other] = [ephemeral.texts(`test-${randomUUID()}`), ephemeral.texts(`test-${randomUUID()}`)];
    expect(await one.get("k\0")).toBeUndefined();
    // Again where Redis answers later than a process waits for it, on a busy machine.
    await expect.poll(() => one.set("k\0", "text", 60).then(() => one.get("k\0"))).toBe("text");
    expect([await one.get("k"), await other.get("k\0")]).toEqual([undefined, undefined]);
    await one.set("k\0", "short", 1);
    await until(async () => (await one.get("k\0")) === undefined);
  });

  test("a rate limit accepts calls again after its window", async () => {
    const limiter = ephemeral.rateLimiter(`test-${randomUUID()}`, { points: 1, seconds: 1 });
    expect([await limiter.hit("k"), await limiter.hit("k")]).toEqual([0, 1]);
    await until(async () => (await limiter.hit("k")) === 0);
  });
});

test("a name server that is silent about Redis is asked once at a time, and every attempt to connect gets its answer", async () => {
  const server = createServer();
  const accepted = new Promise<Socket>((resolve) => server.once("connection", resolve));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const asked: string[] = [];
  const answer = Promise.withResolvers<LookupAddress[]>();
  const resolve = (host: string) => {
    asked.push(host);
    return answer.promise;
  };
  const attempts = vi.fn();
  const url = `redis://redis.test:${(server.address() as AddressInfo).port}`;
  const ephemeral = redisEphemeral(url, "test", { info: () => undefined, warn: attempts }, 0, resolve);
  onTestFinished(() => ephemeral.close());
  await vi.waitFor(() => expect(attempts).toHaveBeenCalled(), 20_000);
  await new Promise((next) => setTimeout(next, 4_000)); // two more attempts, at least
  expect(asked).toEqual(["redis.test"]);
  answer.resolve([{ address: "127.0.0.1", family: 4 }]);
  (await accepted).destroy();
  await vi.waitFor(() => expect(asked.length).toBeGreaterThan(1), 20_000); // an answer is not kept: an address may change
});

if (TEST_REDIS_URL !== undefined)
  describe("Redis", () => {
    test("two processes share their rate limits", async () => {
      const [one, two] = [redisEphemeral(TEST_REDIS_URL as string), redisEphemeral(TEST_REDIS_URL as string)];
      await until(async () => (await one.ping()) && (await two.ping()));
      const name = `test-${randomUUID()}`;
      await one.rateLimiter(name, { points: 1, seconds: 60 }).hit("k");
      expect(await two.rateLimiter(name, { points: 1, seconds: 60 }).hit("k")).toBeGreaterThan(0);
      await one.close();
      await two.close();
    });

    test("two cores share their counts of failed client authentications", async () => {
      const processes = [redisEphemeral(TEST_REDIS_URL as string), redisEphemeral(TEST_REDIS_URL as string)];
      for (const each of processes) await until(() => each.ping());
      const name = `test-${randomUUID()}`;
      const cores = processes.map((each) =>
        authenticationThrottle(each.rateLimiter(name, { ...FAILURES, points: FAILURES.points - 1 }), systemClock),
      );
      await Promise.all(cores.flatMap((core) => Array.from({ length: 49 }, () => core.failed("c", "a"))));
      for (const core of cores) core.assertOpen("c", "a");
      for (const core of cores) await core.failed("c", "a");
      expect(() => cores[1]?.assertOpen("c", "a")).toThrow(expect.objectContaining({ code: "too_many_requests" }));
      expect(() => cores[0]?.assertOpen("c", "a")).not.toThrow();
      await cores[0]?.failed("c", "a");
      expect(() => cores[0]?.assertOpen("c", "a")).toThrow(expect.objectContaining({ code: "too_many_requests" }));
      for (const each of processes) await each.close();
    });

    test.for(["cut", "hold"] as const)(
      "while Redis is unreachable (%s), each process counts locally without delay; afterwards Redis is used again",
      async (how) => {
        const url = new URL(TEST_REDIS_URL as string);
        const wire = await wireTo(url.hostname, Number(url.port === "" ? 6379 : url.port));
        url.hostname = "127.0.0.1";
        url.port = String(wire.port);
        const ephemeral = redisEphemeral(url.href);
        await until(() => ephemeral.ping());
        const limiter = ephemeral.rateLimiter(`test-${randomUUID()}`, { points: 3, seconds: 60 });
        expect(await limiter.hit("k")).toBe(0);
        await wire[how]();
        const before = wire.received();
        const waits: number[] = [];
        for (let n = 0; n < 20; n++) waits.push(await limiter.hit("k"));
        expect(wire.received() - before).toBeLessThan(20); // an unresponsive Redis is tried now and then, not for every call
        // One of the three calls was used before.
        expect(waits.filter((wait) => wait === 0)).toHaveLength(2);
        expect(await ephemeral.ping()).toBe(false);
        await wire.mend();
        await until(() => ephemeral.ping());
        await ephemeral.close();
        await wire.close();
      },
    );

    test("an outage is logged once at its start and once at its end, without the address", async () => {
      const url = new URL(TEST_REDIS_URL as string);
      const wire = await wireTo(url.hostname, Number(url.port === "" ? 6379 : url.port));
      const lines: string[] = [];
      const log = createLog({ level: "info", sink: { write: (line) => lines.push(line) } });
      const events = () => lines.map((line) => JSON.parse(line).event);
      const ephemeral = redisEphemeral(`redis://127.0.0.1:${wire.port}`, "test", log);
      await until(() => ephemeral.ping());
      expect(lines).toEqual([]);
      for (const outage of [1, 2]) {
        await wire.cut();
        await until(async () => events().length === outage * 2 - 1);
        await wire.mend();
        await until(() => ephemeral.ping());
        expect(events()).toEqual(["redis_away", "redis_back", "redis_away", "redis_back"].slice(0, outage * 2));
      }
      await ephemeral.close();
      await wire.close();
      expect(events()).toHaveLength(4); // closing the connection is not logged as an outage
      expect(lines.join()).not.toContain(String(wire.port));
    });

    test("a Redis that answers and refuses to write is away, and rates are counted locally", async () => {
      const server = new Redis(TEST_REDIS_URL as string);
      const url = new URL(TEST_REDIS_URL as string);
      [url.username, url.password] = [`reader-${randomUUID()}`, "secret"];
      await server.acl("SETUSER", url.username, "on", ">secret", "~*", "+@read", "+@connection", "+info");
      const lines: string[] = [];
      const log = createLog({ level: "info", sink: { write: (line) => lines.push(line) } });
      const ephemeral = redisEphemeral(url.href, "test", log);
      await until(async () => !(await ephemeral.ping()) && lines.length > 0);
      const limiter = ephemeral.rateLimiter("test", { points: 1, seconds: 60 });
      expect([await limiter.hit("k"), await limiter.hit("k")]).toEqual([0, 60]);
      expect(await ephemeral.ping()).toBe(false);
      expect(lines.map((line) => JSON.parse(line))).toEqual([expect.objectContaining({ event: "redis_away", code: "NOPERM" })]);
      await ephemeral.close();
      await server.acl("DELUSER", url.username);
      server.disconnect();
    });

    test("a Redis that takes writes again is back by its use, also where nothing asks for its health", async () => {
      const server = new Redis(TEST_REDIS_URL as string);
      const url = new URL(TEST_REDIS_URL as string);
      [url.username, url.password] = [`reader-${randomUUID()}`, "secret"];
      await server.acl("SETUSER", url.username, "on", ">secret", "~*", "+@all", "-@scripting");
      const lines: string[] = [];
      const log = createLog({ level: "info", sink: { write: (line) => lines.push(line) } });
      const ephemeral = redisEphemeral(url.href, "test", log, 0);
      const limiter = ephemeral.rateLimiter(randomUUID(), { points: 1_000_000, seconds: 60 });
      const events = () => lines.map((line) => JSON.parse(line).event);
      const used = (event: string) =>
        until(async () => {
          await limiter.hit("k");
          return events().at(-1) === event;
        });
      await until(ephemeral.ping);
      await used("redis_away");
      await server.acl("SETUSER", url.username, "+@scripting");
      await used("redis_back");
      await ephemeral.close();
      await server.acl("DELUSER", url.username);
      server.disconnect();
    });

    test("after a failover, connections to the server that became a replica are given up for the new primary", async () => {
      const { hostname, port } = new URL(TEST_REDIS_URL as string);
      const before = new Set<Socket>();
      let becameReplica = (_: Socket) => false;
      const address = createServer((inner) => {
        const outer = connect(Number(port === "" ? 6379 : port), hostname);
        inner.on("data", (data) => {
          if (becameReplica(inner)) inner.write("-READONLY You can't write against a read only replica.\r\n");
          else outer.write(data);
        });
        outer.on("data", (data) => inner.write(data));
        inner.on("error", () => {}).on("close", () => outer.destroy());
        outer.on("error", () => {}).on("close", () => inner.destroy());
        before.add(inner);
      });
      await new Promise<void>((resolve) => address.listen(0, "127.0.0.1", resolve));
      const ephemeral = redisEphemeral(`redis://127.0.0.1:${(address.address() as AddressInfo).port}`, "test", undefined, 0);
      await until(ephemeral.ping);
      const old = new Set(before);
      becameReplica = (socket) => old.has(socket);
      expect(await ephemeral.ping()).toBe(false);
      await until(ephemeral.ping);
      await ephemeral.close();
      address.close();
    });

    test("a Redis that is unreachable at the start is logged once, without the password of its URL", async () => {
      const lines: string[] = [];
      const log = createLog({ level: "info", sink: { write: (line) => lines.push(line) } });
      const ephemeral = redisEphemeral("redis://user:canary-password@127.0.0.1:1", "test", log);
      await until(async () => lines.length > 0);
      await ephemeral.close();
      expect(lines.map((line) => JSON.parse(line))).toEqual([expect.objectContaining({ event: "redis_away", code: "ECONNREFUSED" })]);
      expect(lines.join()).not.toContain("canary");
    });

    test("a Redis that is unreachable from the start causes no refusals: rates are counted locally, texts are not kept", async () => {
      const ephemeral = redisEphemeral("redis://127.0.0.1:1");
      const limiter = ephemeral.rateLimiter("test", { points: 2, seconds: 60 });
      expect([await limiter.hit("k"), await limiter.hit("k"), await limiter.hit("k")]).toEqual([0, 0, 60]);
      expect(await ephemeral.ping()).toBe(false);
      const texts = ephemeral.texts("test");
      await texts.set("k", "text", 60);
      expect(await texts.get("k")).toBeUndefined();
      await ephemeral.close();
    });
  });
