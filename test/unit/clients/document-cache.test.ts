import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { clientDocuments, documentLifetime, LONGEST, type SharedTexts, sharedDocuments } from "../../../src/clients/document-cache.ts";
import { resolveClient } from "../../../src/clients/find-client.ts";
import { guardedFetch } from "../../../src/outside/guarded-fetch.ts";
import { memoryEphemeral } from "../../../src/store/ephemeral/memory.ts";
import { aClient } from "../../support/builders.ts";
import { aClock } from "../../support/clock.ts";
import { type Publisher, publisher } from "../../support/publisher.ts";

let site: Publisher;
let url: string;
let before = 0;

beforeAll(async () => {
  site = await publisher();
  url = `https://localhost:${site.port}/client.json`;
});
afterAll(() => site.close());
beforeEach(() => {
  before = site.requests().length;
  site.serveJson(aDocument());
});

const aDocument = (members: object = {}) => ({
  client_id: url,
  client_name: "First",
  redirect_uris: ["https://a.example.test/cb"],
  ...members,
});
const fetches = () => site.requests().length - before;

function aService(texts?: SharedTexts, clock = aClock(), secret = Buffer.alloc(32, 1)) {
  const shared = texts && sharedDocuments(texts, secret, LONGEST, clock.now);
  const realm = {
    id: "01900000-0000-7000-8000-000000000002",
    name: "default",
    dynamicRegistrationScopes: null as readonly string[] | null,
  };
  const fetch = guardedFetch({ ownUrl: "http://localhost:3000", loopbackAllowed: true });
  /** What was handed over, and whether a user allowed the client something. */
  const history = { stored: [] as string[], isConsented: true };
  const versions = { store: async (_: string, document: string) => history.isConsented && history.stored.push(document) > 0 };
  const documents = clientDocuments({
    fetch,
    versions,
    shared,
    clock: clock.now,
    registrationScopes: ["openid"],
    realms: { default: async () => realm },
  });
  const outcome = (id = url, address = "192.0.2.1") =>
    documents.byUrl(id, address).then(
      (client) => client.name,
      (error) => [error.code, error.reason],
    );
  return { clock, realm, documents, history, outcome };
}

test.for([
  [undefined, 300],
  [0, 60],
  [59, 60],
  [61, 61],
  [86_400, 86_400],
  [86_401, 86_400],
  [999_999_999, 86_400],
] as const)("CIMD §5: a document with max-age %s is cached for %s seconds", ([freshFor, expected]) => {
  expect(documentLifetime(freshFor)).toBe(expected);
});

test("a document is cached until it expires", async () => {
  site.serveJson(aDocument(), { "cache-control": "max-age=100" });
  const { outcome, clock } = aService();
  expect(await outcome()).toBe("First");
  site.serveJson(aDocument({ client_name: "Second" }));
  clock.pass(99);
  expect([await outcome(), fetches()]).toEqual(["First", 1]);
  clock.pass(1);
  expect([await outcome(), fetches()]).toEqual(["Second", 2]);
});

test("CIMD §5: an expired document is not used when it cannot be fetched again", async () => {
  const { outcome, clock } = aService();
  expect(await outcome()).toBe("First");
  clock.pass(300);
  site.serve((_request, response) => response.writeHead(500).end());
  expect(await outcome()).toEqual(["invalid_client", "document_status_not_200"]);
});

test("CIMD §5: neither failures nor invalid documents are cached", async () => {
  const { outcome } = aService();
  site.serve((_request, response) => response.writeHead(404).end());
  expect(await outcome()).toEqual(["invalid_client", "document_status_not_200"]);
  site.serveJson(aDocument({ client_id: "https://other.example.test/x" }));
  expect(await outcome()).toEqual(["invalid_client", "document_of_another_client"]);
  site.serveJson(aDocument());
  expect([await outcome(), fetches()]).toEqual(["First", 3]);
});

test("50 concurrent requests for one document cause one fetch", async () => {
  const { outcome } = aService();
  expect(new Set(await Promise.all(Array.from({ length: 50 }, () => outcome())))).toEqual(new Set(["First"]));
  expect(fetches()).toBe(1);
});

test("an address that spent its fetches does not keep others from a document that it asks for at the same time", async () => {
  const { outcome } = aService();
  const flooding = "192.0.2.1";
  site.serve((_request, response) => response.writeHead(404).end());
  for (let count = 0; count < 60; count++) await outcome(`${url}/${count}`, flooding);
  site.serveJson(aDocument());
  expect(await Promise.all([outcome(url, flooding), outcome(url, "192.0.2.2")])).toEqual([
    ["too_many_requests", "fetch_budget_spent"],
    "First",
  ]);
});

test("a change of the realm's allowed scopes applies to cached documents", async () => {
  const { documents, realm } = aService();
  expect((await documents.byUrl(url, "192.0.2.1")).scopes).toEqual(["openid"]);
  realm.dynamicRegistrationScopes = ["openid", "notes:read"];
  expect((await documents.byUrl(url, "192.0.2.1")).scopes).toEqual(["openid", "notes:read"]);
});

test("a URL is fetched at most twenty times a minute, even if it fails", async () => {
  const { outcome, clock } = aService();
  site.serve((_request, response) => response.writeHead(500).end());
  for (let attempt = 0; attempt < 20; attempt++) expect(await outcome()).toEqual(["invalid_client", "document_status_not_200"]);
  expect(await outcome()).toEqual(["too_many_requests", "fetch_budget_spent"]);
  expect(fetches()).toBe(20);
  clock.pass(60);
  expect(await outcome()).toEqual(["invalid_client", "document_status_not_200"]);
});

test("a document that was acceptable is fetched again although others have spent the fetches of its host", async () => {
  const { outcome, clock } = aService();
  expect(await outcome()).toBe("First");
  clock.pass(300);
  site.serve((_request, response) => response.writeHead(404).end());
  for (let n = 0; n < 120; n++) await outcome(`https://localhost:${site.port}/absent/${n}`, `192.0.2.${10 + (n % 2)}`);
  site.serveJson(aDocument());
  expect(await outcome(`https://localhost:${site.port}/other.json`)).toEqual(["too_many_requests", "fetch_budget_spent"]);
  expect(await outcome()).toBe("First");
});

test("an invalid document URL is refused without a fetch", async () => {
  const { outcome } = aService();
  expect(await outcome(`https://127.0.0.1:${site.port}/client.json`)).toEqual(["invalid_client", "document_host_is_an_address"]);
  expect(await outcome(`${url}?x=1`)).toEqual(["invalid_client", "document_url_with_query"]);
  expect(fetches()).toBe(0);
});

test("docs/protocol.md#client-resolution: a registered client takes precedence over the document, even if disabled; other ids are not fetched", async () => {
  const { documents } = aService();
  const registered = aClient({ clientId: url, enabled: false });
  const known = { byClientId: async (id: string) => (id === url ? registered : undefined) };
  const empty = { byClientId: async () => undefined };
  expect(await resolveClient(url, "192.0.2.1", { clients: known, documents })).toBe(registered);
  expect(fetches()).toBe(0);
  expect((await resolveClient(url, "192.0.2.1", { clients: empty, documents }))?.origin).toBe("metadata_document");
  expect(await resolveClient("c_unknown", "192.0.2.1", { clients: empty, documents })).toBeUndefined();
  expect(await resolveClient(url, "192.0.2.1", { clients: empty, documents: undefined })).toBeUndefined();
});

test("at most sixty documents a minute are fetched for one address; cached documents and other addresses are not limited", async () => {
  const { outcome, clock } = aService();
  site.serve((request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(aDocument({ client_id: `https://localhost:${site.port}${request.url}` })));
  });
  const document = (n: number) => `https://localhost:${site.port}/${n}.json`;
  for (let n = 0; n < 60; n += 1) expect(await outcome(document(n))).toBe("First");
  expect(await outcome(document(60))).toEqual(["too_many_requests", "fetch_budget_spent"]);
  expect(await outcome(document(0))).toBe("First");
  expect(await outcome(document(60), "192.0.2.2")).toBe("First");
  expect(fetches()).toBe(61);
  clock.pass(60);
  expect(await outcome(document(61))).toBe("First");
});

test("a document is fetched again once the clock was set back further than any document is kept", async () => {
  site.serveJson(aDocument());
  const { outcome, clock } = aService();
  expect([await outcome(), await outcome(), fetches()]).toEqual(["First", "First", 1]);
  clock.pass(-86_400);
  expect([await outcome(), fetches()]).toEqual(["First", 2]);
});

test("fetches that were spent before the clock was set back do not count after it", async () => {
  const { outcome, clock } = aService();
  site.serve((_request, response) => response.writeHead(503).end());
  for (let n = 0; n < 20; n += 1) expect(await outcome()).toEqual(["invalid_client", "document_status_not_200"]);
  expect(await outcome()).toEqual(["too_many_requests", "fetch_budget_spent"]);
  clock.pass(-3_600);
  expect(await outcome()).toEqual(["invalid_client", "document_status_not_200"]);
});

test("processes share fetched documents until they expire", async () => {
  site.serveJson(aDocument(), { "cache-control": "max-age=100" });
  const texts = memoryEphemeral().texts("documents");
  const clock = aClock();
  const [one, two] = [aService(texts, clock), aService(texts, clock)];
  expect([await one.outcome(), await two.outcome(), fetches()]).toEqual(["First", "First", 1]);
  clock.pass(60);
  const late = aService(texts, clock);
  expect([await late.outcome(), fetches()]).toEqual(["First", 1]);
  clock.pass(40);
  site.serveJson(aDocument({ client_name: "Second" }));
  expect([await late.outcome(), fetches()]).toEqual(["Second", 2]);
});

test("a shared copy is validated again by each process", async () => {
  const texts = memoryEphemeral().texts("documents");
  const clock = aClock();
  await aService(texts, clock).outcome();
  const { documents, realm } = aService(texts, clock);
  realm.dynamicRegistrationScopes = ["openid", "notes:read"];
  expect((await documents.byUrl(url, "192.0.2.1")).scopes).toEqual(["openid", "notes:read"]);
  expect(fetches()).toBe(1);
});

test("neither failures nor invalid documents are shared", async () => {
  const texts = memoryEphemeral().texts("documents");
  const clock = aClock();
  site.serveJson(aDocument({ client_id: "https://other.example.test/x" }));
  expect(await aService(texts, clock).outcome()).toEqual(["invalid_client", "document_of_another_client"]);
  expect(await texts.get(url)).toBeUndefined();
});

test.for([
  ["a forged shared copy", (text: string) => text.replace("a.example.test", "b.example.test")],
  ["an empty object", () => "{}"],
  ["an empty shared copy", () => ""],
] as const)("%s is not used", async ([, forge]) => {
  const texts = memoryEphemeral().texts("documents");
  const clock = aClock();
  await aService(texts, clock).outcome();
  await texts.set(url, forge((await texts.get(url)) ?? ""), 1_000);
  expect((await aService(texts, clock).documents.byUrl(url, "192.0.2.1")).redirectUris).toEqual(["https://a.example.test/cb"]);
  expect(fetches()).toBe(2);
});

test("a shared copy of another document, of other cores, or with too long a lifetime is not used", async () => {
  const texts = memoryEphemeral().texts("documents");
  const clock = aClock();
  const secret = Buffer.alloc(32, 1);
  const write = (of: string, seconds: number, by = secret) => {
    const elsewhere = { get: texts.get, set: (_: string, text: string) => texts.set(url, text, 1_000) };
    return sharedDocuments(elsewhere, by, LONGEST, clock.now).set(of, { document: aDocument(), until: clock.now() + seconds });
  };
  const read = () => sharedDocuments(texts, secret, LONGEST, clock.now).get(url);
  await write(url, LONGEST);
  expect(await read()).toBeDefined();
  await write(url, LONGEST + 1);
  expect(await read()).toBeUndefined();
  await write(`${url}x`, 100);
  expect(await read()).toBeUndefined();
  await write(url, 100, Buffer.alloc(32, 2));
  expect(await read()).toBeUndefined();
  await write(url, 0);
  expect(await read()).toBeUndefined();
});

test.for([
  [60, 60],
  [LONGEST, 600],
] as const)("a document that lives for %i seconds has a shared copy for %i", async ([lifetime, kept]) => {
  const memory = memoryEphemeral().texts("documents");
  const clock = aClock();
  const kepts: number[] = [];
  const texts: SharedTexts = {
    get: memory.get,
    set: (key, text, seconds) => {
      kepts.push(seconds);
      return memory.set(key, text, seconds);
    },
  };
  const shared = sharedDocuments(texts, Buffer.alloc(32, 1), LONGEST, clock.now);
  await shared.set(url, { document: aDocument(), until: clock.now() + lifetime });
  expect([await shared.get(url), kepts]).toEqual([{ document: aDocument(), until: clock.now() + lifetime }, [kept]]);
});

test("the text of a document is stored when it is fetched, and by the first code if no user had allowed anything before", async () => {
  const { documents, history, outcome, clock } = aService();
  const text = JSON.stringify(aDocument());
  history.isConsented = false;
  await outcome();
  expect(history.stored).toEqual([]);
  history.isConsented = true;
  await documents.keep(url);
  expect(history.stored).toEqual([text]);
  await outcome();
  await documents.keep(url);
  expect(history.stored).toEqual([text]);
  clock.pass(301);
  await outcome();
  expect(history.stored).toEqual([text, text]);
});

test("a copy of another process has the text that was fetched, and one of an earlier release is used without", async () => {
  const texts = memoryEphemeral().texts("documents");
  const clock = aClock();
  await aService(texts, clock).outcome();
  const { documents, history, outcome } = aService(texts, clock);
  await outcome();
  await documents.keep(url);
  expect(history.stored).toEqual([JSON.stringify(aDocument())]);
  await sharedDocuments(texts, Buffer.alloc(32, 1), LONGEST, clock.now).set(url, { document: aDocument(), until: clock.now() + 100 });
  const later = aService(texts, clock);
  await later.outcome();
  await later.documents.keep(url);
  expect([later.history.stored, fetches()]).toEqual([[], 1]);
});
