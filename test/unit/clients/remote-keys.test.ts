import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { FetchFailure, NO_PLACE } from "../../../src/clients/guarded-fetch.ts";
import { cachedKeys, remoteKeys } from "../../../src/clients/remote-keys.ts";
import { guardedFetch } from "../../../src/outside/guarded-fetch.ts";
import { aClock } from "../../support/clock.ts";
import { type Publisher, publisher } from "../../support/publisher.ts";

let site: Publisher;
let uri: string;
let before = 0;
const KEY = { kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", kid: "one" };

beforeAll(async () => {
  site = await publisher();
  uri = `https://localhost:${site.port}/jwks.json`;
});
afterAll(() => site.close());
beforeEach(() => {
  before = site.requests().length;
  publish("one");
});

const publish = (...kids: string[]) => site.serveJson({ keys: kids.map((kid) => ({ ...KEY, kid })) });
const fetches = () => site.requests().length - before;

function aService() {
  const clock = aClock();
  const keys = remoteKeys(guardedFetch({ ownUrl: "http://localhost:3000", loopbackAllowed: true }), clock.now);
  const kidsOf = (answer: Promise<readonly { kid?: unknown }[]>) =>
    answer.then(
      (found) => found.map(({ kid }) => kid),
      (error) => error.reason,
    );
  return { clock, at: () => kidsOf(keys.current(uri)), renewed: () => kidsOf(keys.refreshed(uri)) };
}

test("keys are cached for ten minutes", async () => {
  const { at, clock } = aService();
  expect(await Promise.all([at(), at(), at()])).toEqual([["one"], ["one"], ["one"]]);
  clock.pass(599);
  publish("two");
  expect([await at(), fetches()]).toEqual([["one"], 1]);
  clock.pass(1);
  expect([await at(), fetches()]).toEqual([["two"], 2]);
});

test("keys, failures and looks for unknown keys count as old once the clock was set back", async () => {
  const { at, renewed, clock } = aService();
  await at();
  publish("two");
  await renewed();
  publish("three");
  clock.pass(-3_600);
  expect([await at(), fetches()]).toEqual([["three"], 3]);
  publish("four");
  expect([await renewed(), fetches()]).toEqual([["four"], 4]);
  clock.pass(600);
  site.serve((_request, response) => response.writeHead(503).end());
  expect(await at()).toBe("status_not_200");
  publish("five");
  clock.pass(-3_600);
  expect(await at()).toEqual(["five"]);
});

test("an unknown key id causes a fetch at once and two seconds later, and such a pair comes once a minute", async () => {
  const { at, renewed, clock } = aService();
  await at();
  publish("one", "two");
  expect([await renewed(), fetches()]).toEqual([["one", "two"], 2]);
  publish("three");
  clock.pass(1);
  expect([await renewed(), fetches()]).toEqual([["one", "two"], 2]);
  clock.pass(1);
  expect([await renewed(), fetches()]).toEqual([["three"], 3]);
  publish("four");
  clock.pass(59);
  expect([await renewed(), fetches()]).toEqual([["three"], 3]);
  clock.pass(1);
  expect([await renewed(), fetches()]).toEqual([["four"], 4]);
  publish("five");
  clock.pass(2);
  expect([await renewed(), fetches()]).toEqual([["five"], 5]);
});

test("a new key is found within two seconds where a cache answers with its old set, and replaces that only then", async () => {
  const { at, renewed, clock } = aService();
  await at();
  expect(await renewed()).toEqual(["one"]);
  publish("two");
  clock.pass(2);
  expect(await renewed()).toEqual(["two"]);
});

test("expired keys that cannot be fetched are not used, and a failed host is not asked again for 5 s, in which its failure keeps its reason", async () => {
  const { at, clock } = aService();
  await at();
  clock.pass(600);
  site.serve((_request, response) => response.writeHead(503).end());
  expect(await at()).toBe("status_not_200");
  publish("two");
  expect([await at(), fetches()]).toEqual(["status_not_200", 2]);
  clock.pass(5);
  expect([await at(), fetches()]).toEqual([["two"], 3]);
});

test("a fetch for which this server had no place is tried again at once", async () => {
  const answers = [() => Promise.reject(new FetchFailure(NO_PLACE)), async () => [KEY]];
  const keys = cachedKeys(() => answers.shift()?.() ?? Promise.reject(new Error("asked again")), 1, aClock().now);
  await expect(keys.current(uri)).rejects.toThrow(NO_PLACE);
  expect(await keys.current(uri)).toEqual([KEY]);
});

test.for([
  ["not a JWK Set", [KEY]],
  ["a private key among them", { keys: [KEY, { ...KEY, kid: "two", d: "x" }] }],
  ["a symmetric key among them", { keys: [KEY, { kty: "oct", k: "eA" }] }],
  ["too many keys", { keys: Array.from({ length: 101 }, () => KEY) }],
] as const)("%s: no key is accepted", async ([, document]) => {
  site.serveJson(document);
  expect(await aService().at()).toBe("no_public_key_set");
});

test("accepts a JWK Set of 64 KiB, and refuses a larger one", async () => {
  site.serveJson({ keys: [KEY], more: "x".repeat(60_000) });
  expect(await aService().at()).toEqual(["one"]);
  site.serveJson({ keys: [KEY], more: "x".repeat(66_000) });
  expect(await aService().at()).toBe("too_large");
});
