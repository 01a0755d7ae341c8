import { createHmac, timingSafeEqual } from "node:crypto";
import { LRUCache } from "lru-cache";
import { type Clock, secondsSince } from "../clock.ts";
import { Refusal } from "../errors.ts";
import { singleFlight } from "../load-once.ts";
import { assertDocumentUrl, documentHost } from "./find-client.ts";
import { FetchFailure, type GuardedFetch, unfetched } from "./guarded-fetch.ts";
import { clientOfDocument, type DocumentPolicy } from "./metadata-document.ts";
import type { ClientDocuments, DocumentVersions, KeptDocuments, Realms } from "./ports.ts";

/** A cache that processes share. Entries may be lost at any time, and neither method throws. */
export interface SharedTexts {
  get(key: string): Promise<string | undefined>;
  set(key: string, text: string, seconds: number): Promise<void>;
}

/** A document with its expiry in seconds since the epoch. Copies of an earlier release lack the text that was fetched. */
export type KeptDocument = { readonly document: unknown; readonly text?: string | undefined; readonly until: number };

type SharedDocuments = ReturnType<typeof sharedDocuments>;

/** The most seconds for which processes share a document. Anyone can have 5 kB fetched at each request: kept for a day, they fill the cache. */
const SHARED_FOR = 600;

/** Whether a document is used: for as long as it says, and never for longer than the longest, should the clock be set back. */
const isFresh = ({ until }: KeptDocument, longest: number, clock: Clock): boolean => until > clock() && until <= clock() + longest;

/**
 * Documents that one process fetched, for the others. They are authenticated with a secret of the token cores: write access to the cache
 * does not suffice to forge them. Readers validate the content.
 * @param longest the most seconds for which a copy is used
 */
export function sharedDocuments(texts: SharedTexts, secret: Uint8Array, longest: number, clock: Clock) {
  const sealOf = (body: string): Buffer => createHmac("sha256", secret).update(body).digest();

  const opened = (url: string, text: string): KeptDocument | undefined => {
    const seal = Buffer.from(text.slice(0, 64), "hex");
    const body = text.slice(64);
    if (seal.length !== 32 || !timingSafeEqual(seal, sealOf(body))) return undefined;
    const { of, ...found } = JSON.parse(body) as KeptDocument & { readonly of: string }; // authenticated, so it has the form written below
    return of === url && isFresh(found, longest, clock) ? found : undefined;
  };

  return {
    get: async (url: string): Promise<KeptDocument | undefined> => {
      const text = await texts.get(url);
      return text === undefined ? undefined : opened(url, text);
    },
    set: async (url: string, { until, ...kept }: KeptDocument): Promise<void> => {
      const body = JSON.stringify({ of: url, ...kept, until });
      await texts.set(url, sealOf(body).toString("hex") + body, Math.min(SHARED_FOR, until - clock()));
    },
  };
}

/** The limit that the draft recommends. */
const MAX_DOCUMENT_BYTES = 5_120;
/** What is said of a fetch that failed: what its host answered. Which hosts and addresses this server can reach is nothing for strangers. */
const ANSWERED: Readonly<Record<string, string>> = {
  status_not_200: "its status is not 200, and redirects are not followed",
  not_json: "its Content-Type is not application/json",
  json_malformed: "it is not valid JSON in UTF-8",
  content_encoded: "it is compressed, which was not asked for",
  too_large: `it has more than ${MAX_DOCUMENT_BYTES} bytes`,
};
const REMEMBERED_DOCUMENTS = 1_000;
/** Seconds. */
const SHORTEST = 60;
export const LONGEST = 86_400;
const UNSAID = 300;
/** Fetches in a minute of one URL, from one host, and on behalf of one address. */
const PER_URL = 20;
const PER_HOST = 120;
const PER_ADDRESS = 60;

/** Seconds for which a document is cached. @param freshFor seconds according to its response headers */
export const documentLifetime = (freshFor: number | undefined): number =>
  freshFor === undefined ? UNSAID : Math.min(LONGEST, Math.max(SHORTEST, freshFor));

export interface DocumentPorts {
  readonly fetch: GuardedFetch;
  /** Documents that other processes fetched; undefined without Redis. */
  readonly shared: SharedDocuments | undefined;
  readonly realms: Pick<Realms, "default">;
  /** DEFAULT_DYNAMIC_REGISTRATION_SCOPES, for a realm without its own allowlist. */
  readonly registrationScopes: readonly string[];
  readonly versions: DocumentVersions;
  readonly clock: Clock;
}

/**
 * Finds clients by their metadata documents. Cached documents are validated at each use, so that a change of the realm's allowlist takes
 * effect at once. Failures are not cached, and expired documents are not used.
 * @see draft-ietf-oauth-client-id-metadata-document §5, docs/protocol.md#metadata-documents
 */
export function clientDocuments(ports: DocumentPorts): ClientDocuments & KeptDocuments {
  const { fetch, shared, realms, registrationScopes, versions, clock } = ports;
  /** Expired ones are not used, but say where a client was found. */
  const kept = new LRUCache<string, KeptDocument>({ max: REMEMBERED_DOCUMENTS });
  /** What this process stored of each URL. */
  const stored = new LRUCache<string, string>({ max: REMEMBERED_DOCUMENTS });
  const budget = fetchBudget(clock);

  const policy = async (): Promise<DocumentPolicy> => {
    const realm = await realms.default();
    return { realmId: realm.id, allowedScopes: realm.dynamicRegistrationScopes ?? registrationScopes, now: clock() };
  };

  const clientOf = async ({ document }: KeptDocument, url: string) => clientOfDocument(document, url, await policy());

  const fetched = async (url: string): Promise<KeptDocument> => {
    budget.spend(`url ${url}`, PER_URL);
    // Anybody can spend the fetches of a host by other URLs, and must not keep users from a client that was found there.
    if (!kept.has(url)) budget.spend(`host ${documentHost(url)}`, PER_HOST);
    const { value, text, freshFor } = await fetch.json(url, MAX_DOCUMENT_BYTES).catch((cause: unknown) => {
      if (!(cause instanceof FetchFailure)) throw cause;
      const seen = ANSWERED[cause.reason];
      const why = seen === undefined ? "" : `: ${seen}`;
      throw unfetched(cause, "invalid_client", "document", `The client metadata document could not be fetched${why}.`);
    });
    return { document: value, text, until: clock() + documentLifetime(freshFor) };
  };

  const store = async (url: string, { text }: KeptDocument): Promise<void> => {
    if (text !== undefined && (await versions.store(url, text))) stored.set(url, text);
  };

  const copyOf = singleFlight(async (url: string) => shared?.get(url));
  const obtain = singleFlight(
    async (url: string, _address: string) => {
      const found = await fetched(url);
      await clientOf(found, url); // throws for an unacceptable document, before it is cached
      await shared?.set(url, found);
      await store(url, found);
      return found;
    },
    (_url, address) => budget.spend(`address ${address}`, PER_ADDRESS),
  );

  return {
    async byUrl(url, address) {
      assertDocumentUrl(url);
      const known = kept.get(url);
      if (known !== undefined && isFresh(known, LONGEST, clock)) return clientOf(known, url);
      const found = (await copyOf(url)) ?? (await obtain(url, address));
      const client = await clientOf(found, url);
      kept.set(url, found);
      return client;
    },
    async keep(url) {
      const known = kept.get(url);
      if (known !== undefined && stored.get(url) !== known.text) await store(url, known);
    },
  };
}

const WINDOW_SECONDS = 60;
const REMEMBERED_BUDGETS = 10_000;

/** Limits fetches within a minute. Failures are not cached, so callers could otherwise make this server flood a third party. */
function fetchBudget(clock: Clock) {
  const windows = new LRUCache<string, { spent: number; readonly begun: number }>({ max: REMEMBERED_BUDGETS });
  return {
    /** @throws {Refusal} too_many_requests */
    spend(key: string, limit: number): void {
      const known = windows.get(key);
      const current = known !== undefined && secondsSince(clock, known.begun) < WINDOW_SECONDS ? known : { spent: 0, begun: clock() };
      if (current.spent >= limit) {
        const retryAfter = WINDOW_SECONDS - secondsSince(clock, current.begun);
        throw new Refusal("too_many_requests", "fetch_budget_spent", { retryAfter });
      }
      current.spent += 1;
      windows.set(key, current);
    },
  };
}
