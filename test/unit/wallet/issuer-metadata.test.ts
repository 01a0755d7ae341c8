import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { guardedFetch } from "../../../src/outside/guarded-fetch.ts";
import { issuerMetadata } from "../../../src/wallet/signatures.ts";
import { aClock } from "../../support/clock.ts";
import { type CredentialIssuer, credentialIssuer } from "../../support/credential-issuer.ts";
import { walletKey } from "../../support/wallet.ts";

let issuer: CredentialIssuer;
beforeAll(async () => {
  issuer = await credentialIssuer("/eu");
});
afterAll(() => issuer.close());
beforeEach(() => {
  issuer.metadata = {};
});

/** A new cache, with a clock of the test. */
function keys() {
  const clock = aClock(1_000);
  const known = issuerMetadata(guardedFetch({ ownUrl: "http://localhost:3000", loopbackAllowed: true }), clock.now);
  const fetches = issuer.publisher.requests().length;
  const failure = () =>
    known.current(issuer.url).then(
      () => "found",
      (error) => error.reason,
    );
  return { clock, known, failure, fetches: () => issuer.publisher.requests().length - fetches };
}

test("SD-JWT VC §5: keys are read from the issuer's metadata, or from its jwks_uri", async () => {
  expect(await keys().known.current(issuer.url)).toEqual([issuer.key.jwk]);
  issuer.metadata = { jwks: undefined, jwks_uri: `https://localhost:${issuer.publisher.port}/keys` };
  expect(await keys().known.current(issuer.url)).toEqual([issuer.key.jwk]);
});

test("keys are cached for ten minutes, and fetched again for an unknown key: at once and two seconds later, such a pair once a minute", async () => {
  const { clock, known, fetches } = keys();
  await Promise.all([known.current(issuer.url), known.current(issuer.url)]);
  clock.pass(59);
  await known.current(issuer.url);
  expect(fetches()).toBe(1);
  await known.refreshed(issuer.url);
  clock.pass(1);
  await known.refreshed(issuer.url);
  expect(fetches()).toBe(2);
  clock.pass(1);
  await known.refreshed(issuer.url);
  expect(fetches()).toBe(3);
  clock.pass(59);
  await known.refreshed(issuer.url);
  expect(fetches()).toBe(3);
  clock.pass(2);
  await known.refreshed(issuer.url);
  expect(fetches()).toBe(4);
  clock.pass(2);
  await known.refreshed(issuer.url);
  expect(fetches()).toBe(5);
  clock.pass(599);
  await known.current(issuer.url);
  expect(fetches()).toBe(5);
  clock.pass(2);
  await known.current(issuer.url);
  expect(fetches()).toBe(6);
});

test.for([
  [{ issuer: "https://other.example.test" }, "document_of_another_issuer"],
  [{ issuer: undefined }, "document_of_another_issuer"],
  [{ jwks: undefined }, "document_without_keys"],
  [{ jwks_uri: "https://localhost/keys" }, "document_without_keys"],
  [{ jwks: { keys: [walletKey().privateKey.export({ format: "jwk" })] } }, "no_public_key_set"],
  [{ jwks: undefined, jwks_uri: 7 }, "no_public_key_set"],
  [{ jwks: undefined, jwks_uri: "http://localhost/keys" }, "scheme_not_https"],
  [{ jwks: undefined, jwks_uri: "https://10.0.0.1/keys" }, "host_is_an_address"],
] as const)("metadata %j is refused: %s", async ([metadata, reason]) => {
  issuer.metadata = metadata;
  expect(await keys().failure()).toBe(reason);
});

test("a failed fetch is not repeated for five seconds", async () => {
  issuer.metadata = { issuer: "https://other.example.test" };
  const { clock, failure, fetches } = keys();
  expect([await failure(), await failure()]).toEqual(["document_of_another_issuer", "document_of_another_issuer"]);
  expect(fetches()).toBe(1);
  clock.pass(6);
  expect([await failure(), fetches()]).toEqual(["document_of_another_issuer", 2]);
});
