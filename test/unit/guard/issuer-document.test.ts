import { createServer } from "node:http";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { fetchKeys, readKeySet } from "../../../guard-sdk/src/issuer-document.ts";
import { anIssuerKey, listen, startIssuer } from "../../support/guard-issuer.ts";

const key = await anIssuerKey("k");
const other = await anIssuerKey("other");

describe("readKeySet", () => {
  test.for([
    ["an Ed25519 key", key.jwk, ["k"]],
    ["a key with only the required members", { kty: "OKP", crv: "Ed25519", x: key.jwk.x }, [""]],
    ["the fully specified algorithm name", { ...key.jwk, alg: "Ed25519" }, ["k"]],
    ["a key with private members", { ...key.jwk, d: 7 }, ["k"]],
    ["an unknown kty", { kty: "AKP", alg: "ML-DSA-65", pub: "AAAA", kid: "k" }, []],
    ["a symmetric key", { kty: "oct", k: "AAAA", kid: "k", alg: "EdDSA" }, []],
    ["an RSA key", { kty: "RSA", n: "AQAB", e: "AQAB", kid: "k" }, []],
    ["another curve", { ...key.jwk, crv: "X25519" }, []],
    ["a key for encryption", { ...key.jwk, use: "enc" }, []],
    ["a key for signing only", { ...key.jwk, key_ops: ["sign"] }, []],
    ["another algorithm", { ...key.jwk, alg: "ES256" }, []],
    ["a key of the wrong length", { ...key.jwk, x: "AAAA" }, []],
    ["a kid that is not a string", { ...key.jwk, kid: 1 }, []],
    ["null", null, []],
    ["a string", "key", []],
  ] as const)("%s", async ([, entry, kids]) => {
    expect([...(await readKeySet([entry])).keys()]).toEqual(kids);
  });

  test("unreadable entries do not affect other keys", async () => {
    expect([...(await readKeySet([{ kty: "AKP" }, 7, key.jwk])).keys()]).toEqual(["k"]);
  });

  test("of two keys with one kid the first is kept", async () => {
    const set = await readKeySet([key.jwk, { ...other.jwk, kid: "k" }]);
    expect(set.get("k")?.x).toBe(key.jwk.x);
  });

  test("an unchanged key keeps its object, and a changed one does not", async () => {
    const known = await readKeySet([key.jwk]);
    expect((await readKeySet([key.jwk], known)).get("k")).toBe(known.get("k"));
    expect((await readKeySet([{ ...other.jwk, kid: "k" }], known)).get("k")).not.toBe(known.get("k"));
  });
});

describe("fetchKeys", async () => {
  const issuer = await startIssuer();
  const metadata = (members: object) => ({
    body: JSON.stringify({ issuer: issuer.issuer, jwks_uri: `${issuer.issuer}/keys`, ...members }),
  });
  const OAUTH = "/.well-known/oauth-authorization-server";
  const OIDC = "/.well-known/openid-configuration";
  const kids = async (of = issuer.issuer) => [...(await fetchKeys(of, undefined, fetch)).keys()];

  beforeEach(() => {
    issuer.documents.clear();
    issuer.documents.set(OAUTH, metadata({}));
    issuer.publish(issuer.key.jwk);
    issuer.requests.length = 0;
  });
  afterAll(issuer.close);

  test("fetches the metadata and then the keys", async () => {
    expect(await kids()).toEqual(["first"]);
    expect(issuer.requests).toEqual([OAUTH, "/keys"]);
  });

  test("uses OpenID Connect Discovery where there is no RFC 8414 document", async () => {
    issuer.documents.delete(OAUTH);
    issuer.documents.set(OIDC, metadata({}));
    expect(await kids()).toEqual(["first"]);
  });

  test("finds the documents of an issuer with a path where both standards put them", async () => {
    const realm = `${issuer.issuer}/realm/`;
    issuer.documents.set(`/realm${OIDC}`, metadata({ issuer: realm }));
    expect(await kids(realm)).toEqual(["first"]);
    expect(issuer.requests).toEqual([`${OAUTH}/realm`, `/realm${OIDC}`, "/keys"]);
  });

  test.for([
    ["metadata of another issuer", OAUTH, { issuer: "https://evil.test" }, "another issuer"],
    ["an issuer that differs by a slash", OAUTH, { issuer: `${issuer.issuer}/` }, "another issuer"],
    ["no jwks_uri", OAUTH, { jwks_uri: undefined }, "jwks_uri"],
    ["a jwks_uri over plain http", OAUTH, { jwks_uri: "http://keys.example/keys" }, "https"],
    ["a jwks_uri that is a file", OAUTH, { jwks_uri: "file:///etc/passwd" }, "https"],
  ] as const)("refuses %s", async ([, path, members, message]) => {
    issuer.documents.set(path, metadata(members));
    await expect(kids()).rejects.toThrow(message);
    expect(issuer.requests).not.toContain("/keys");
  });

  test.for([
    ["a redirect", { status: 302, headers: { location: "/elsewhere" }, body: "" }],
    ["an error", { status: 500, body: "{}" }],
    ["not JSON", { body: "<html>" }],
    ["not an object", { body: "[]" }],
    ["without keys", { body: "{}" }],
    ["too large", { body: JSON.stringify({ keys: [], padding: "x".repeat(300_000) }) }],
  ] as const)("refuses a JWK Set that is %s", async ([, document]) => {
    issuer.documents.set("/elsewhere", { body: JSON.stringify({ keys: [issuer.key.jwk] }) });
    issuer.documents.set("/keys", document);
    await expect(kids()).rejects.toThrow();
    expect(issuer.requests).not.toContain("/elsewhere");
  });

  test("a response that never ends is aborted by a timeout", async () => {
    const slow = createServer((_, response) => response.writeHead(200).write("{"));
    const { origin, close } = await listen(slow);
    await expect(kids(origin)).rejects.toThrow(/timeout/i);
    await close();
  });
});
