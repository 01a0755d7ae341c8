import { execFile } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach, expect, type TestContext, test } from "vitest";
import { FetchFailure, NO_PLACE } from "../../../src/clients/guarded-fetch.ts";
import { timeLimit } from "../../../src/grpc/deadline.ts";
import { askingNameServers, type GuardedFetchOptions, guardedFetch, OVERALL_MS } from "../../../src/outside/guarded-fetch.ts";
import { ca, type Publisher, publisher } from "../../support/publisher.ts";

const HOST = "client.localhost";
let site: Publisher;
let seen = 0;

beforeAll(async () => {
  site = await publisher([HOST, "localhost"]);
});
afterAll(() => site.close());
beforeEach(() => {
  seen = site.connections();
  site.serveJson({ hello: "world" });
});
const connectionCount = () => site.connections() - seen;
const url = (host = HOST) => `https://${host}:${site.port}/doc.json`;

const fetcher = (options: Partial<GuardedFetchOptions> = {}) =>
  guardedFetch({ ownUrl: "http://localhost:3000", loopbackAllowed: true, resolve: async () => ["127.0.0.1"], ...options });
const outcome = (target: string, options: Partial<GuardedFetchOptions> = {}, maxBytes = 5_120) =>
  fetcher(options)
    .json(target, maxBytes)
    .then(
      ({ value }) => value,
      (error) => error.reason ?? error,
    );
/**
 * A name server that answers questions for the IPv4 addresses of these names, says that they have no IPv6 address unless they begin with `v4only`,
 * and is silent otherwise. Names that begin with `lossy` have an IPv6 address, and their first question for IPv4 is lost.
 * @returns its address and port @see RFC 1035 §4
 */
async function aNameServer(onTestFinished: TestContext["onTestFinished"], addresses: Readonly<Record<string, string>>): Promise<string> {
  const socket = createSocket("udp4");
  let lost = false;
  onTestFinished(() => void socket.close());
  socket.on("message", (query, { address, port }) => {
    const labels: string[] = [];
    let at = 12;
    for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
      labels.push(query.toString("latin1", at + 1, at + 1 + length));
      at += 1 + length;
    }
    const found = addresses[labels.join(".")];
    const isIPv4 = query.readUInt16BE(at + 1) === 1;
    if (found === undefined || (!isIPv4 && labels[0] === "v4only")) return;
    const isLossy = labels[0] === "lossy";
    if (isLossy && isIPv4 && !lost) {
      lost = true;
      return;
    }
    const question = query.subarray(12, at + 5);
    const bytes = isIPv4 ? found.split(".").map(Number) : isLossy ? [0x20, 1, 0xd, 0xb8, ...Array(11).fill(0), 1] : [];
    const header = Buffer.from([...query.subarray(0, 2), 0x81, 0x80, 0, 1, 0, Math.min(bytes.length, 1), 0, 0, 0, 0]);
    const answer = bytes.length === 0 ? [] : [0xc0, 12, 0, isIPv4 ? 1 : 28, 0, 1, 0, 0, 0, 60, 0, bytes.length, ...bytes];
    socket.send(Buffer.concat([header, question, Buffer.from(answer)]), port, address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return `127.0.0.1:${socket.address().port}`;
}
const JSON_TYPE = { "content-type": "application/json" };

test("fetches a document from an allowed address, with its freshness", async () => {
  site.serveJson({ hello: "world" }, { "cache-control": "max-age=77" });
  expect(await fetcher().json(url(), 5_120)).toMatchObject({ value: { hello: "world" }, freshFor: 77 });
  const [request] = site.requests().slice(-1);
  expect(request?.headers).toMatchObject({ host: `${HOST}:${site.port}`, accept: "application/json", "accept-encoding": "identity" });
  expect(request?.headers.cookie).toBeUndefined();
});

test("uses the system's resolver by default", async () => {
  const plain = guardedFetch({ ownUrl: "http://localhost:3000", loopbackAllowed: true });
  expect((await plain.json(url("localhost"), 5_120)).value).toEqual({ hello: "world" });
});

test.for(["client.example.test", "localhost.example.test", "127.0.0.1.example.test", "notlocalhost"])(
  "where loopback is allowed, the name %s that resolves to loopback is refused without a connection",
  async (host) => {
    expect(await outcome(url(host))).toBe("address_not_public");
    expect(connectionCount()).toBe(0);
  },
);

test.for([
  ["127.0.0.1"],
  ["10.0.0.1"],
  ["169.254.169.254"],
  ["::1"],
  ["fd00::1"],
  ["::ffff:127.0.0.1"],
  ["64:ff9b::7f00:1"],
  ["8.8.8.8", "127.0.0.1"],
])("abuse 54: a name with the address %s is refused without a connection", async (addresses) => {
  expect(await outcome(url("client.example.test"), { loopbackAllowed: false, resolve: async () => addresses })).toBe("address_not_public");
  expect(connectionCount()).toBe(0);
});

test("other private addresses are refused where loopback is allowed", async () => {
  expect(await outcome(url(), { resolve: async () => ["127.0.0.1", "10.0.0.1"] })).toBe("address_not_public");
  expect(connectionCount()).toBe(0);
});

test.for([
  ["an IP literal", () => `https://127.0.0.1:${site.port}/doc.json`, "host_is_an_address"],
  ["an IPv6 literal", () => `https://[::1]:${site.port}/doc.json`, "host_is_an_address"],
  ["an address in decimal", () => `https://2130706433:${site.port}/doc.json`, "host_is_an_address"],
  ["plain http", () => `http://${HOST}:${site.port}/doc.json`, "scheme_not_https"],
] as const)("abuse 53: %s is refused without a look-up", async ([, target, expected]) => {
  let lookups = 0;
  const resolve = async () => {
    lookups += 1;
    return ["127.0.0.1"];
  };
  expect(await outcome(target(), { resolve })).toBe(expected);
  expect([lookups, connectionCount()]).toEqual([0, 0]);
});

test("localhost is refused where loopback is not allowed", async () => {
  expect(await outcome(url("localhost"), { loopbackAllowed: false })).toBe("host_is_local");
  expect(connectionCount()).toBe(0);
});

test("abuse 56: a name is resolved once, and the connection uses the checked address", async () => {
  const answers = [["127.0.0.1"], ["10.0.0.1"], ["10.0.0.1"]];
  let lookups = 0;
  const resolve = async () => answers[lookups++] ?? [];
  expect(await outcome(url(), { resolve })).toEqual({ hello: "world" });
  expect(lookups).toBe(1);
  expect(await outcome(url(), { resolve })).toBe("address_not_public");
});

test("requests to a silent host leave places for other hosts", async () => {
  const fetch = fetcher();
  const reason = (target: string) =>
    fetch.json(target, 5_120).then(
      ({ value }) => value,
      ({ reason: why }) => why,
    );
  const { promise: allIn, resolve } = Promise.withResolvers<void>();
  let open = 0;
  site.serve((request, response) => {
    if (request.url === "/doc.json") response.writeHead(200, JSON_TYPE).end('{"hello":"world"}');
    else if (++open === 8) resolve();
  });
  const silent = Array.from({ length: 30 }, (_, n) => reason(`https://localhost:${site.port}/${n}`));
  await allIn;
  expect(await reason(url())).toEqual({ hello: "world" });
  expect(new Set(await Promise.all(silent))).toEqual(new Set(["too_slow", "too_many_fetches"]));
});

test("requests to a slow host wait until it answers others", async () => {
  const fetch = fetcher();
  let asked = 0;
  // Those that waited are answered at once: a busy machine has all of their time for connecting.
  site.serve((_, response) => {
    const answer = () => void response.writeHead(200, JSON_TYPE).end('{"hello":"world"}');
    if (++asked > 8) answer();
    else setTimeout(answer, 1_100);
  });
  const slow = Array.from({ length: 12 }, (_, n) => fetch.json(`https://localhost:${site.port}/${n}`, 5_120));
  expect((await Promise.all(slow)).map(({ value }) => value)).toEqual(slow.map(() => ({ hello: "world" })));
});

/** Names of hosts that begin with `silent` are never found. */
const someSilent = async (host: string) => (host.startsWith("silent") ? new Promise<readonly string[]>(() => undefined) : ["127.0.0.1"]);

/** Fetches from silent hosts at once, and then from one that answers. */
async function besideSilent(hosts: number, ofEach: number) {
  const fetch = fetcher({ resolve: someSilent });
  const reason = (target: string) =>
    fetch.json(target, 5_120).then(
      ({ value }) => value,
      ({ reason: why }) => why,
    );
  const silent = Array.from({ length: hosts * ofEach }, (_, n) => reason(`https://silent${n % hosts}.localhost:${site.port}/${n}`));
  return { answering: await reason(url()), silent: new Set(await Promise.all(silent)) };
}

test.concurrent("some silent hosts together leave places for other hosts", async ({ expect: expects }) => {
  expects(await besideSilent(5, 12)).toEqual({ answering: { hello: "world" }, silent: new Set(["too_slow", "too_many_fetches"]) });
});

test.concurrent("a fetch that finds no place says nothing about its host", async ({ expect: expects }) => {
  expects(await besideSilent(64, 1)).toMatchObject({ answering: "too_many_fetches" });
});

test.concurrent("a name whose look-up does not end is looked up once", async () => {
  let lookups = 0;
  const resolve = async (host: string) => {
    if (host === HOST) return ["127.0.0.1"];
    lookups += 1;
    return new Promise<readonly string[]>(() => undefined);
  };
  const fetch = fetcher({ resolve });
  const reason = (target: string) =>
    fetch.json(target, 5_120).then(
      ({ value }) => value,
      ({ reason: why }) => why,
    );
  const first = async () => {
    const silent = Array.from({ length: 4 }, (_, n) => reason(`https://silent.localhost:${site.port}/${n}`));
    const answer = await Promise.race([...silent, reason(url())]);
    expect(new Set(await Promise.all(silent))).toEqual(new Set(["too_slow"]));
    return answer;
  };
  // A busy machine may need longer for the one name than the others wait in vain.
  let last = await first();
  for (let left = 10; left > 0 && last === "too_slow"; left -= 1) last = await first();
  expect(last).toEqual({ hello: "world" });
  expect([await reason(`https://silent.localhost:${site.port}/later`), lookups]).toEqual(["too_slow", 1]);
});

test.concurrent("names of silent name servers leave other names alone", async ({ onTestFinished }) => {
  const nameServer = await aNameServer(onTestFinished, { "found.example.test": "127.0.0.1" });
  const fetch = guardedFetch({ ownUrl: "http://localhost:3000", loopbackAllowed: false, resolve: askingNameServers([nameServer]) });
  const reason = (host: string) => fetch.json(`https://${host}/`, 5_120).catch((error) => error.reason);
  const silent = Array.from({ length: 12 }, (_, n) => reason(`silent${n}.example.test`));
  expect(await Promise.race([...silent, reason("found.example.test")])).toBe("address_not_public");
  // On a busy machine the time for all of a fetch ends before that for the name.
  for (const why of await Promise.all(silent)) expect(["name_not_resolved", "too_slow"]).toContain(why);
});

test.concurrent("a name whose server is silent about IPv6 is found by its IPv4 address", async ({ onTestFinished }) => {
  const nameServer = await aNameServer(onTestFinished, { "v4only.example.test": "127.0.0.1" });
  const resolve = askingNameServers([nameServer]);
  expect(await Promise.race([resolve("silent.example.test"), resolve("v4only.example.test")])).toEqual(["127.0.0.1"]);
});

test.concurrent("the IPv4 address of a name is found where the first question for it is lost", async ({ onTestFinished }) => {
  const nameServer = await aNameServer(onTestFinished, { "lossy.example.test": "127.0.0.1" });
  expect(await askingNameServers([nameServer])("lossy.example.test")).toEqual(["127.0.0.1", "2001:db8::1"]);
});

test("a name without an address, or whose look-up fails, is refused", async () => {
  expect(await outcome(url(), { resolve: async () => [] })).toBe("name_not_resolved");
  expect(await outcome(url(), { resolve: () => Promise.reject(new Error("SERVFAIL")) })).toBe("name_not_resolved");
});

test("a look-up for which there is no place says nothing about the name", async () => {
  expect(await outcome(url(), { resolve: () => Promise.reject(new FetchFailure(NO_PLACE)) })).toBe(NO_PLACE);
});

test("abuse 55: a redirect is not followed", async () => {
  let asked = 0;
  site.serve((request, response) => {
    asked += 1;
    if (request.url === "/good") response.writeHead(200, JSON_TYPE).end("{}");
    else response.writeHead(302, { location: "/good" }).end();
  });
  expect(await outcome(url())).toBe("status_not_200");
  expect(asked).toBe(1);
});

test.for([201, 204, 206, 301, 304, 400, 404, 500])("a response with status %s is refused", async (status) => {
  site.serve((_request, response) => response.writeHead(status, JSON_TYPE).end(status === 204 || status === 304 ? undefined : "{}"));
  expect(await outcome(url())).toBe("status_not_200");
});

test.for(["text/html", "text/plain", "application/octet-stream"])("a response of the media type %s is refused", async (type) => {
  site.serve((_request, response) => response.writeHead(200, { "content-type": type }).end("{}"));
  expect(await outcome(url())).toBe("not_json");
});

const filled = (size: number) => JSON.stringify("x".repeat(size - 2));

test("abuse 55: 5 120 bytes are accepted and 5 121 refused, with and without Content-Length", async () => {
  site.serve((_request, response) => response.writeHead(200, JSON_TYPE).end(filled(5_120)));
  expect(await outcome(url())).toHaveLength(5_118);
  site.serve((_request, response) => response.writeHead(200, JSON_TYPE).end(filled(5_121)));
  expect(await outcome(url())).toBe("too_large");
  site.serve((_request, response) => {
    response.writeHead(200, JSON_TYPE).write(filled(5_121).slice(0, 3_000));
    response.end(filled(5_121).slice(3_000));
  });
  expect(await outcome(url())).toBe("too_large");
});

test("an endless body is cut off at the limit", async () => {
  let written = 0;
  site.serve((_request, response) => {
    response.writeHead(200, JSON_TYPE);
    const more = () => {
      while (!response.destroyed && response.write("x".repeat(1_024))) written += 1;
    };
    response.on("drain", more);
    more();
  });
  expect(await outcome(url())).toBe("too_large");
  expect(written).toBeLessThan(10_000);
});

test("an encoded body is refused", async () => {
  site.serve((_request, response) => response.writeHead(200, { ...JSON_TYPE, "content-encoding": "gzip" }).end(gzipSync("{}")));
  expect(await outcome(url())).toBe("content_encoded");
});

test.for(["", "{", "\ufeff{}", "[1,]"])("the body %j is refused as malformed JSON", async (body) => {
  site.serve((_request, response) => response.writeHead(200, JSON_TYPE).end(body));
  expect(await outcome(url())).toBe("json_malformed");
});

test("a body that is not UTF-8 is refused", async () => {
  site.serve((_request, response) => response.writeHead(200, JSON_TYPE).end(Buffer.from([0x22, 0xff, 0x22])));
  expect(await outcome(url())).toBe("json_malformed");
});

test("a fetch times out before the core call that waits for it", () => {
  expect(OVERALL_MS).toBeLessThanOrEqual(timeLimit("validateAuthorization") - 500);
});

test("abuse 55: a response of one byte a second is aborted by the timeout", async () => {
  site.serve((_request, response) => {
    response.writeHead(200, JSON_TYPE);
    const drip = setInterval(() => response.write(" "), 1_000);
    response.on("close", () => clearInterval(drip));
  });
  expect(await outcome(url())).toBe("too_slow");
});

test("a certificate for another name is refused", async () => {
  expect(await outcome(url("other.localhost"))).toBe("unreachable");
});

test("contract: a private authority is trusted by NODE_EXTRA_CA_CERTS only", async () => {
  const dir = mkdtempSync(join(tmpdir(), "countersign-ca-"));
  const file = join(dir, "ca.pem");
  writeFileSync(file, ca.certificatePem);
  const module = new URL("../../../src/outside/guarded-fetch.ts", import.meta.url).href;
  const code = `import { guardedFetch } from ${JSON.stringify(module)};
    const fetch = guardedFetch({ ownUrl: "http://localhost:3000", loopbackAllowed: true });
    console.log(JSON.stringify(await fetch.json(${JSON.stringify(url("localhost"))}, 5120).then(({ value }) => value, (error) => error.reason)));`;
  const run = async (env: NodeJS.ProcessEnv) =>
    (await promisify(execFile)(process.execPath, ["--input-type=module", "-e", code], { env })).stdout.trim();
  try {
    expect(await run({ NODE_EXTRA_CA_CERTS: file })).toBe('{"hello":"world"}');
    expect(await run({})).toBe('"unreachable"');
    expect(await run({ NODE_TLS_REJECT_UNAUTHORIZED: "0", NODE_NO_WARNINGS: "1" })).toBe('"unreachable"');
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});

test("a closed port is unreachable", async () => {
  expect(await outcome("https://client.localhost:1/doc.json")).toBe("unreachable");
});

test("every fetch has its own connection, and at most eight run concurrently at one host", async () => {
  const twenty = async () => {
    let open = 0;
    let most = 0;
    // Responds only once eight requests are waiting, however slowly they arrive.
    const allIn = Promise.withResolvers<void>();
    site.serve((_request, response) => {
      open += 1;
      most = Math.max(most, open);
      if (open === 8) allIn.resolve();
      void allIn.promise.then(() => {
        open -= 1;
        response.writeHead(200, JSON_TYPE).end("{}");
      });
    });
    const before = connectionCount();
    const shared = fetcher();
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, () =>
        shared.json(url(), 5_120).then(
          () => "fetched",
          (error) => error.reason ?? error,
        ),
      ),
    );
    return { outcomes: new Set(outcomes), most, connections: connectionCount() - before };
  };
  // A busy machine may need longer for twenty than a fetch may take.
  let last = await twenty();
  for (let left = 10; left > 0 && last.outcomes.has("too_slow"); left -= 1) last = await twenty();
  expect(last).toEqual({ outcomes: new Set(["fetched"]), most: 8, connections: 20 });
});

test("text of a given media type is fetched under the same rules, with a matching Accept header", async () => {
  const type = "application/statuslist+jwt";
  const text = (target: string, options: Partial<GuardedFetchOptions> = {}, maxBytes = 100) =>
    fetcher(options)
      .text(target, type, maxBytes)
      .catch((error) => error.reason ?? error);
  site.serve((_request, response) => response.writeHead(200, { "content-type": type }).end("a.b.c"));
  expect(await text(url())).toBe("a.b.c");
  expect(site.requests().at(-1)?.headers.accept).toBe(type);
  expect(await text(url(), {}, 4)).toBe("too_large");
  expect(await text(url("client.example.test"), { loopbackAllowed: false })).toBe("address_not_public");
  expect(await text(`http://${HOST}:${site.port}/`)).toBe("scheme_not_https");
  site.serveJson({});
  expect(await text(url())).toBe("media_type_not_expected");
});
