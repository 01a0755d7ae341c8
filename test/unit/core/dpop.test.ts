import { describe, expect, test } from "vitest";
import { CLIENT_ASSERTION_ALGORITHMS } from "../../../src/clients/client.ts";
import { checkProof, consumeProof, DPOP_KEY, thumbprint, verifyProof } from "../../../src/core/dpop.ts";
import { keyFor } from "../../support/assertions.ts";
import { descriptionOf, refusalOf } from "../../support/builders.ts";
import { clocksAt } from "../../support/clock.ts";
import { aProof, type ProofRequest, proofKey, thumbprintOf } from "../../support/dpop.ts";

const NOW = 1_000_000;
const URL = "https://auth.example.test/oauth/token";
const key = proofKey();
const proofOf = ({ claims, ...request }: Partial<ProofRequest> = {}) =>
  aProof(key, { url: URL, ...request, claims: { iat: NOW, ...claims } });
const check = (proof: string, accessToken?: string, htu = URL) =>
  checkProof({ proof, htm: "POST", htu }, { now: NOW, ...(accessToken !== undefined && { accessToken }) });
const reasonOf = (proof: string, accessToken?: string, htu = URL) => refusalOf(() => check(proof, accessToken, htu));

describe("RFC 9449 §4.3: accepts", () => {
  test.for(CLIENT_ASSERTION_ALGORITHMS)("a proof by %s", (alg) => {
    const other = keyFor(alg);
    expect(check(aProof(other, { url: URL, claims: { iat: NOW } })).jkt).toBe(thumbprint(other.jwk));
  });

  test("the thumbprint of the key, the identifier, and the seconds to remember it", () => {
    expect(check(proofOf({ claims: { jti: "one" } }))).toEqual({ jkt: thumbprintOf(key), jti: "one", remember: 301 });
    expect(check(proofOf({ claims: { iat: NOW + 300 } })).remember).toBe(601);
  });

  test.for([
    ["query and fragment", `${URL}?a=b#c`, URL],
    ["case of scheme and host, and the default port", "HTTPS://AUTH.example.test:443/oauth/token", URL],
    ["dot segments", "https://auth.example.test/x/../oauth/./token", URL],
    ["escapes of unreserved characters", "https://auth.example.test/oauth/%74oken", URL],
    ["case of escapes", "https://auth.example.test/a%c3%a4", "https://auth.example.test/a%C3%A4"],
  ])("a URL that differs in %s", ([, htu, url]) => {
    expect(check(proofOf({ claims: { htu } }), undefined, url).jkt).toBe(thumbprintOf(key));
  });

  test.for([-300, 300])("a proof %i seconds from now", (seconds) => {
    expect(check(proofOf({ claims: { iat: NOW + seconds } })).jkt).toBe(thumbprintOf(key));
  });

  test("the access token of RFC 9449 §7.1 by its ath", () => {
    const proof = proofOf({ claims: { ath: "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo" } });
    expect(check(proof, "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU").jkt).toBe(thumbprintOf(key));
  });

  test("a proof whose exp was 60 seconds ago, for clocks differ", () => {
    expect(check(proofOf({ claims: { exp: NOW - 60 } })).jkt).toBe(thumbprintOf(key));
  });
});

const { privateKey, jwk } = key;
const REFUSED: readonly (readonly [string, string, string])[] = [
  ["two headers", `${proofOf()}, ${proofOf()}`, "dpop_malformed"],
  ["no JWS", "x", "dpop_malformed"],
  ["an empty header", "", "dpop_malformed"],
  ["more than 4096 characters", proofOf({ claims: { padding: "x".repeat(4_096) } }), "dpop_malformed"],
  ["no jti", proofOf({ claims: { jti: undefined } }), "dpop_malformed"],
  ["an empty jti", proofOf({ claims: { jti: "" } }), "dpop_malformed"],
  ["no htm", proofOf({ claims: { htm: undefined } }), "dpop_malformed"],
  ["no htu", proofOf({ claims: { htu: undefined } }), "dpop_malformed"],
  ["no iat", proofOf({ claims: { iat: undefined } }), "dpop_malformed"],
  ["an iat that is no number", proofOf({ claims: { iat: String(NOW) } }), "dpop_malformed"],
  ["crit", proofOf({ header: { crit: ["x"] } }), "dpop_malformed"],
  ["the type of an access token", proofOf({ header: { typ: "at+jwt" } }), "dpop_type_wrong"],
  ["no type", proofOf({ header: { typ: undefined } }), "dpop_type_wrong"],
  ["alg none", proofOf({ header: { alg: "none" } }), "dpop_algorithm_not_accepted"],
  ["a symmetric alg", proofOf({ header: { alg: "HS256" } }), "dpop_algorithm_not_accepted"],
  ["no key", proofOf({ header: { jwk: undefined } }), "dpop_key_not_accepted"],
  ["a private key", proofOf({ header: { jwk: privateKey.export({ format: "jwk" }) } }), "dpop_key_not_accepted"],
  ["a symmetric key", proofOf({ header: { jwk: { kty: "oct", k: "AA" } } }), "dpop_key_not_accepted"],
  ["a key of another type", proofOf({ header: { jwk: keyFor("EdDSA").jwk } }), "dpop_key_not_accepted"],
  ["a key that is no point of its curve", proofOf({ header: { jwk: { ...jwk, x: "AAAA" } } }), "dpop_key_not_accepted"],
  ["another key", proofOf({ header: { jwk: proofKey().jwk } }), "dpop_signature_wrong"],
  ["another method", proofOf({ method: "GET" }), "dpop_method_differs"],
  ["another path", proofOf({ url: "https://auth.example.test/oauth/revoke" }), "dpop_uri_differs"],
  ["another host", proofOf({ url: "https://other.example.test/oauth/token" }), "dpop_uri_differs"],
  ["a user in the URL", proofOf({ url: "https://auth.example.test@auth.example.test/oauth/token" }), "dpop_uri_differs"],
  ["a password in the URL", proofOf({ url: "https://:secret@auth.example.test/oauth/token" }), "dpop_uri_differs"],
  ["no URL", proofOf({ url: "/oauth/token" }), "dpop_uri_differs"],
  ["an age of 301 s", proofOf({ claims: { iat: NOW - 301 } }), "dpop_not_current"],
  ["a time 301 s ahead", proofOf({ claims: { iat: NOW + 301 } }), "dpop_not_current"],
  ["an nbf 301 s ahead", proofOf({ claims: { nbf: NOW + 301 } }), "dpop_not_current"],
  ["an nbf that is no number", proofOf({ claims: { nbf: String(NOW) } }), "dpop_not_current"],
  ["an exp 61 s ago", proofOf({ claims: { exp: NOW - 61 } }), "dpop_not_current"],
  ["an exp that is no number", proofOf({ claims: { exp: String(NOW + 60) } }), "dpop_not_current"],
];

describe("RFC 9449 §4.3: rejects", () => {
  test.for(REFUSED)("%s", ([, proof, reason]) => {
    expect(reasonOf(proof)).toEqual(["invalid_dpop_proof", reason]);
    expect(descriptionOf(() => check(proof))).toMatch(/DPoP .*\.$/);
  });

  test("a proof without the hash of the access token, or of another one", () => {
    expect(check(proofOf({ accessToken: "token" }), "token").jkt).toBe(thumbprintOf(key));
    expect(reasonOf(proofOf(), "token")).toEqual(["invalid_dpop_proof", "dpop_token_differs"]);
    expect(reasonOf(proofOf({ accessToken: "other" }), "token")).toEqual(["invalid_dpop_proof", "dpop_token_differs"]);
  });

  test("an algorithm that the client's profile does not accept", () => {
    const proof = aProof(keyFor("RS256"), { url: URL, claims: { iat: NOW } });
    const attempt = () => checkProof({ proof, htm: "POST", htu: URL }, { now: NOW, algorithms: ["ES256"] });
    expect(refusalOf(attempt)).toEqual(["invalid_dpop_proof", "dpop_algorithm_not_accepted"]);
  });

  test("by the clock of the database, once that was read", () => {
    const sent = { proof: proofOf(), htm: "POST", htu: URL };
    const at = (database: number | undefined, own: number) =>
      refusalOf(() => verifyProof(sent, { clock: () => own, clocks: clocksAt(() => database) }, {}));
    expect([at(NOW, 0), at(undefined, NOW)]).toEqual(["granted", "granted"]);
    expect([at(0, NOW), at(undefined, 0)].map(([, reason]) => reason)).toEqual(["dpop_not_current", "dpop_not_current"]);
  });

  test("a known key with the algorithm of another type", () => {
    check(proofOf());
    expect(reasonOf(proofOf({ header: { alg: "EdDSA" } }))).toEqual(["invalid_dpop_proof", "dpop_key_not_accepted"]);
  });
});

test("RFC 9449 §5: what is bound to a key says so to the holder of another", () => {
  const attempt = () => DPOP_KEY.check({ boundTo: { jkt: "a" }, confirmation: { jkt: "b" } });
  expect(refusalOf(attempt)).toEqual(["invalid_grant", "dpop_key_differs"]);
  expect(descriptionOf(attempt)).toBe("The DPoP proof is signed by another key than the one that is required.");
});

test("RFC 9449 §6.1: the thumbprint of the standard's example", () => {
  const x = "l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs";
  const y = "9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA";
  expect(thumbprint({ kty: "EC", x, y, crv: "P-256" })).toBe("0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I");
  expect(thumbprint({ kty: "EC", x, crv: "P-256" })).toBeUndefined();
});

test("RFC 7638 §3.1, RFC 8037 A.3: the thumbprints of the standards' examples", () => {
  const n =
    "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw";
  expect(thumbprint({ kty: "RSA", n, e: "AQAB", alg: "RS256", kid: "2011-04-29" })).toBe("NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs");
  const x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
  expect(thumbprint({ kty: "OKP", crv: "Ed25519", x })).toBe("kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
  expect(thumbprint({ kty: "oct", k: "AA" })).toBeUndefined();
});

test("a second use of an identifier with the same key is refused", async () => {
  const used = new Set<string>();
  const consume = async (...[kind, issuer, id]: readonly unknown[]) => used.size < used.add(`${kind} ${issuer} ${id}`).size;
  const ports = { consumedIds: { consume } };
  const proven = { jkt: "a", jti: "1", remember: 301 };
  expect(await consumeProof(proven, ports)).toEqual({ jkt: "a" });
  expect(await consumeProof({ ...proven, jkt: "b" }, ports)).toEqual({ jkt: "b" });
  await expect(consumeProof(proven, ports)).rejects.toMatchObject({ code: "invalid_dpop_proof", reason: "dpop_proof_used" });
});
