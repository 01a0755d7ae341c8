import { lookup, Resolver } from "node:dns/promises";
import { isIPv6, type LookupFunction } from "node:net";
import { buildConnector, Client, type Dispatcher } from "undici";
import {
  FetchFailure,
  type GuardedFetch,
  type GuardedSend,
  NO_PLACE,
  type OutboundRequest,
  type OutboundResponse,
} from "../clients/guarded-fetch.ts";
import { concurrencyLimit, untilAborted } from "../concurrency-limit.ts";
import { singleFlight } from "../load-once.ts";
import { fetchPlaces } from "./fetch-places.ts";
import { fetchTarget, isLoopbackAddress, isPrivateAddress, isPublicAddress, mayReachLoopback, type TargetRules } from "./public-address.ts";

const CONNECT_MS = 2_000;
/** Shorter than the deadline of a core call, so that the error names the slow document as the cause. */
export const OVERALL_MS = 2_500;
/** More than the documents that one address may have fetched in a minute. What waits for longer could not be fetched in time. */
const PLACES = { limit: 64, ofHost: 8, queue: 128, wait: 2_000 };
const LOOKUPS_QUEUED = 64;
/** Of questions to name servers: a second one is sent when the first has no answer. */
const LOOKUP = { timeout: 600, tries: 2 };
/** Milliseconds for the IPv6 addresses, once those of IPv4 are known: some name servers are silent about IPv6. */
const IPV6 = 300;

const tooMany = () => new FetchFailure(NO_PLACE);

type Permitted = (address: string) => boolean;

/** Resolves all addresses of a name. */
export type Resolve = (host: string) => Promise<readonly string[]>;

export type GuardedFetchOptions = TargetRules & { readonly resolve?: Resolve };

/** Of the system's resolver, which keeps one of four threads that files need too until a silent name server is given up. */
const systemLookups = concurrencyLimit({ limit: 2, queue: LOOKUPS_QUEUED, full: tooMany });

/** Also knows this machine's names, and those of its network. */
const systemResolve: Resolve = (host) =>
  systemLookups.run(async () => (await lookup(host, { all: true, order: "verbatim" })).map(({ address }) => address));

/**
 * Asks name servers directly. The system's resolver would wait for a silent one, which strangers can name, for ten seconds and more.
 * @param servers addresses with ports; default: those of the system
 */
export const askingNameServers =
  (servers?: readonly string[]): Resolve =>
  async (host) => {
    const resolver = new Resolver(LOOKUP);
    if (servers !== undefined) resolver.setServers(servers);
    const [ipv4, ipv6] = [resolver.resolve4(host), resolver.resolve6(host)];
    const giveUpIn = (milliseconds: number) => setTimeout(() => resolver.cancel(), milliseconds);
    const timers = [giveUpIn(OVERALL_MS)];
    void ipv4.then(
      () => timers.push(giveUpIn(IPV6)),
      () => undefined, // IPv6 alone is left
    );
    const answers = await Promise.allSettled([ipv4, ipv6]);
    for (const timer of timers) clearTimeout(timer);
    return answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  };
const publicResolve = askingNameServers();

/**
 * Fetches from untrusted URLs. Resolves the name once, checks all of its addresses and connects only to these, so that a later change of
 * the name has no effect.
 */
export function guardedFetch({ resolve, ...rules }: GuardedFetchOptions): GuardedFetch & GuardedSend {
  const inPlace = fetchPlaces(PLACES);
  const resolverOf = (target: URL): Resolve =>
    resolve ?? (rules.privateAllowed === true || mayReachLoopback(target, rules) ? systemResolve : publicResolve);
  /** The fetches of a host share one look-up. */
  const lookUp = singleFlight((host, target: URL) => resolverOf(target)(host));
  const permittedFor = (target: URL): Permitted => {
    const local = mayReachLoopback(target, rules);
    return (address) =>
      isPublicAddress(address) || (local && isLoopbackAddress(address)) || (rules.privateAllowed === true && isPrivateAddress(address));
  };

  const addressesOf = async (target: URL, permitted: Permitted, signal: AbortSignal): Promise<readonly string[]> => {
    const addresses = await untilAborted(lookUp(target.hostname, target), signal).catch((cause: unknown) => {
      throw signal.aborted || cause instanceof FetchFailure ? cause : new FetchFailure("name_not_resolved", cause);
    });
    if (addresses.length === 0) throw new FetchFailure("name_not_resolved");
    if (!addresses.every(permitted)) throw new FetchFailure("address_not_public");
    return addresses;
  };

  const exchange = async <T>(request: OutboundRequest, take: (response: Dispatcher.ResponseData) => Promise<T>): Promise<T> => {
    const target = fetchTarget(request.url, rules);
    const signal = AbortSignal.timeout(OVERALL_MS);
    const permitted = permittedFor(target);
    const fetchIt = async () => send(target, connectorTo(await addressesOf(target, permitted, signal), permitted), request, signal, take);
    try {
      return await inPlace(target.hostname, fetchIt);
    } catch (cause) {
      if (cause instanceof FetchFailure) throw cause;
      throw new FetchFailure(signal.aborted ? "too_slow" : "unreachable", cause);
    }
  };
  const get = (url: string, expected: Expected): Promise<{ readonly bytes: Buffer; readonly headers: Headers }> =>
    exchange({ url, method: "GET", headers: { accept: expected.accept }, maxBytes: expected.maxBytes }, async (response) => {
      assertResponse(response, expected);
      return { bytes: await bodyOf(response, expected.maxBytes), headers: response.headers };
    });
  return {
    send: (request) => exchange(request, (response) => whole(response, request.maxBytes)),
    async json(url, maxBytes) {
      const { bytes, headers } = await get(url, { maxBytes, accept: "application/json", isWanted: isJson, otherwise: "not_json" });
      return { ...parse(bytes), freshFor: freshness(headers) };
    },
    async text(url, accept, maxBytes) {
      const isWanted = (contentType: Headers[string]) => isMediaType(contentType, accept);
      return (await get(url, { maxBytes, accept, isWanted, otherwise: "media_type_not_expected" })).bytes.toString("utf8");
    },
  };
}

/** What a response must be. `otherwise` is the reason of the failure for any other type. */
interface Expected {
  readonly maxBytes: number;
  readonly accept: string;
  readonly isWanted: (contentType: Headers[string]) => boolean;
  readonly otherwise: string;
}

/** Connects only to checked addresses, and checks the address that was reached. */
function connectorTo(addresses: readonly string[], permitted: Permitted): buildConnector.connector {
  const entries = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  const checkedOnly: LookupFunction = (_host, options, done) => {
    if (options.all) return done(null, entries);
    const [first] = entries;
    done(null, first?.address ?? "", first?.family ?? 4);
  };
  const connect = buildConnector({
    lookup: checkedOnly,
    autoSelectFamily: true,
    timeout: CONNECT_MS,
    allowH2: false,
    maxCachedSessions: 0,
    rejectUnauthorized: true,
  });
  return (options, done) =>
    connect(options, (error, socket) => {
      if (error !== null) return done(error, null);
      if (socket.remoteAddress !== undefined && permitted(socket.remoteAddress)) return done(null, socket);
      socket.destroy();
      done(new FetchFailure("address_not_public"), null);
    });
}

async function send<T>(
  target: URL,
  connect: buildConnector.connector,
  { method, headers, body }: OutboundRequest,
  signal: AbortSignal,
  take: (response: Dispatcher.ResponseData) => Promise<T>,
): Promise<T> {
  // The signal alone ends a slow response: with a second timer, which of the two ends first would decide the reason of the failure.
  const client = new Client(target.origin, { connect, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 });
  try {
    const response = await client.request({
      method,
      path: `${target.pathname}${target.search}`,
      headers: { ...headers, "accept-encoding": "identity", "user-agent": "Countersign" },
      ...(body !== undefined && { body }),
      reset: true,
      signal,
    });
    response.body.on("error", () => undefined); // readers get the error; without a reader it must not end the process
    return await take(response);
  } finally {
    void client.destroy().catch(() => undefined);
  }
}

function assertResponse({ statusCode, headers }: Dispatcher.ResponseData, { isWanted, otherwise, maxBytes }: Expected): void {
  if (statusCode !== 200) throw new FetchFailure("status_not_200");
  if (!isWanted(headers["content-type"])) throw new FetchFailure(otherwise);
  assertPlain(headers, maxBytes);
}

function assertPlain(headers: Headers, maxBytes: number): void {
  const encoding = headers["content-encoding"];
  if (encoding !== undefined && encoding !== "identity") throw new FetchFailure("content_encoded");
  if (Number(headers["content-length"] ?? 0) > maxBytes) throw new FetchFailure("too_large");
}

/** Reads a body up to a size. The encoding is identity, so the size is that of the parsed text. */
async function bodyOf({ body }: Dispatcher.ResponseData, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw new FetchFailure("too_large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** A response of any status, if it is not too large and not encoded. */
async function whole(response: Dispatcher.ResponseData, maxBytes: number): Promise<OutboundResponse> {
  assertPlain(response.headers, maxBytes);
  const headers = Object.entries(response.headers).map(([name, value]) => [name.toLowerCase(), single(value) ?? ""] as const);
  return { status: response.statusCode, headers: Object.fromEntries(headers), body: await bodyOf(response, maxBytes) };
}

function parse(bytes: Buffer): { readonly value: unknown; readonly text: string } {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return { value: JSON.parse(text), text };
  } catch (cause) {
    throw new FetchFailure("json_malformed", cause);
  }
}

type Header = string | string[] | undefined;
export type Headers = Readonly<Record<string, Header>>;

/** Whether a type is `application/json` or has the suffix `+json` (RFC 6839 §3.1), parameters aside. */
export const isJson = (contentType: Header): boolean =>
  typeof contentType === "string" && /^application\/(?:json|[a-z0-9!#$&^_.-]+\+json)[ \t]*(?:;|$)/i.test(contentType);

/** Whether a response has this type, parameters aside. */
export const isMediaType = (contentType: Header, type: string): boolean =>
  typeof contentType === "string" && contentType.split(";", 1)[0]?.trim().toLowerCase() === type;

const single = (header: Header): string | undefined => (typeof header === "string" ? header : header?.join(", "));
const seconds = (text: string | undefined): number | undefined => (text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined);

/** Seconds for which a response is fresh; undefined if it does not say, 0 if it must not be cached. @see RFC 9111 §4.2.1, §5.2.2 */
export function freshness(headers: Headers): number | undefined {
  const directives = new Map(
    (single(headers["cache-control"]) ?? "")
      .toLowerCase()
      .split(",")
      .map((directive) => directive.trim().split("=", 2) as [string, string?])
      .map(([name, value]) => [name, value?.replaceAll('"', "")] as const),
  );
  if (directives.has("no-store") || directives.has("no-cache")) return 0;
  const age = seconds(single(headers.age)) ?? 0;
  const maxAge = seconds(directives.get("max-age"));
  if (maxAge !== undefined) return Math.max(0, maxAge - age);
  const expires = single(headers.expires);
  const date = Date.parse(single(headers.date) ?? "");
  if (expires === undefined || Number.isNaN(date)) return undefined;
  const until = Date.parse(expires);
  return Number.isNaN(until) ? 0 : Math.max(0, Math.floor((until - date) / 1000) - age);
}
