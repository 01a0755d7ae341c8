import { SDJwt } from "@sd-jwt/core";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { digestOf, readPresentation } from "../../../src/wallet/presentation.ts";
import { assertDisclosuresSound } from "../../../src/wallet/verify.ts";
import { encoded, hasher, issueCredential, sha256, signedJwt, walletKey } from "../../support/wallet.ts";

const key = walletKey();
/** A presentation with these claims and disclosures; its signer does not matter here. */
const presented = (claims: object, disclosures: readonly string[]) =>
  readPresentation([signedJwt({ typ: "dc+sd-jwt" }, claims, key), ...disclosures, signedJwt({ typ: "kb+jwt" }, {}, key)].join("~"));
const soundness = (claims: object, disclosures: readonly string[]): string => {
  try {
    assertDisclosuresSound(presented(claims, disclosures));
    return "sound";
  } catch (error) {
    return (error as { reason: string }).reason;
  }
};
const name = encoded(["salt", "given_name", "Ada"]);
const element = encoded(["salt", "DE"]);

describe("test vectors", () => {
  const given = "WyIyR0xDNDJzS1F2ZUNmR2ZyeU5STjl3IiwgImdpdmVuX25hbWUiLCAiSm9obiJd";
  const digest = "jsu9yVulwQQlhFlM_3JlzMaSFzglhQG0DpfayQwLUK4";
  test("OID4VP B.3: the digest of the disclosure of given_name", () => {
    expect(digestOf(presented({}, []).credential)(given)).toBe(digest);
    expect(soundness({ _sd: [digest] }, [given])).toBe("sound");
  });
  test("RFC 9901 §4.2.3: the digest of the disclosure of family_name", () => {
    const family = "WyJfMjZiYzRMVC1hYzZxMktJNmNCVzVlcyIsICJmYW1pbHlfbmFtZSIsICJNw7ZiaXVzIl0";
    expect(digestOf(presented({}, []).credential)(family)).toBe("X9yH0Ajrdm1Oij4tWso9UzzKJvPoDxwmuEcO3XAdRC0");
  });
  test("RFC 9901 §4.1.1: the hash is SHA-256 unless _sd_alg names another supported one", () => {
    const length = (alg: unknown) => digestOf(presented({ _sd_alg: alg }, []).credential)("x").length;
    expect([length(undefined), length("sha-384"), length("sha-512")]).toEqual([43, 64, 86]);
    for (const alg of ["md5", "sha-1", "constructor", 1, null]) expect(() => length(alg)).toThrow("disclosure_hash_not_accepted");
  });
});

describe("RFC 9901 §7.1", () => {
  const inner = encoded(["salt", "street", "Main Street 1"]);
  const outer = encoded(["salt", "address", { _sd: [sha256(inner)], country: "UK" }]);
  const cases: [what: string, claims: object, disclosures: string[], found: string][] = [
    ["no disclosures", { sub: "x" }, [], "sound"],
    ["digests without disclosures", { _sd: ["decoy", sha256(name)] }, [], "sound"],
    ["a member", { _sd: [sha256(name)] }, [name], "sound"],
    ["an element", { countries: [{ "...": sha256(element) }, "FR"] }, [element], "sound"],
    ["a disclosure within a disclosure", { _sd: [sha256(outer)] }, [outer, inner], "sound"],
    ["an inner disclosure without the outer one", { _sd: [sha256(outer)] }, [inner], "disclosure_unreferenced"],
    ["a disclosure without a digest", { _sd: ["decoy"] }, [name], "disclosure_unreferenced"],
    ["the same disclosure twice", { _sd: [sha256(name)] }, [name, name], "disclosure_repeated"],
    ["a digest twice in one place", { _sd: [sha256(name), sha256(name)] }, [name], "digest_repeated"],
    ["a digest twice in two places", { _sd: [sha256(name)], of: { _sd: [sha256(name)] } }, [name], "digest_repeated"],
    ["a decoy twice", { _sd: ["decoy", "decoy"] }, [], "digest_repeated"],
    ["a member in place of an element", { countries: [{ "...": sha256(name) }] }, [name], "disclosure_misplaced"],
    ["an element in place of a member", { _sd: [sha256(element)] }, [element], "disclosure_misplaced"],
    ["an existing claim", { _sd: [sha256(name)], given_name: "Eve" }, [name], "disclosure_overwrites"],
    ["a placeholder with another member", { countries: [{ "...": "x", more: 1 }] }, [], "digest_malformed"],
    ["a placeholder outside of an array", { country: { "...": "x" } }, [], "digest_malformed"],
    ["_sd that is not a list", { _sd: "x" }, [], "digest_malformed"],
    ["a digest that is not a string", { _sd: [1] }, [], "digest_malformed"],
  ];
  test.for(cases)("%s", ([, claims, disclosures, found]) => {
    expect(soundness(claims, disclosures)).toBe(found);
  });

  test.for([
    "",
    "?",
    `${name}=`,
    encoded({}),
    encoded(["salt"]),
    encoded(["salt", "a", 1, 2]),
    encoded([1, "a", 1]),
    encoded(["salt", 1, 1]),
    Buffer.from('["salt","a",1]]').toString("base64url"),
    Buffer.from([0x5b, 0x22, 0xff, 0x22, 0x5d]).toString("base64url"),
  ])("%s is refused as a disclosure", (text) => {
    expect(soundness({ _sd: [sha256(text)] }, [text])).toBe("disclosure_malformed");
  });

  test.for(["_sd", "...", "__proto__"])("a disclosure of a claim named %s is refused", (claim) => {
    const text = encoded(["salt", claim, []]);
    expect(soundness({ _sd: [sha256(text)] }, [text])).toBe("disclosure_reserved");
  });

  test.for(["iss", "nbf", "exp", "cnf", "vct", "status", "_sd_alg"])(
    "SD-JWT VC §2.2: a disclosure of %s is refused at the top level",
    (claim) => {
      const text = encoded(["salt", claim, "x"]);
      expect(soundness({ _sd: [sha256(text)] }, [text])).toBe("disclosure_reserved");
      expect(soundness({ of: { _sd: [sha256(text)] } }, [text])).toBe("sound");
    },
  );

  test.for([5, 40, 5_000])("nesting of %d levels is accepted up to the limit, and never throws another error", (depth) => {
    const text = Buffer.from(`["salt","a",${"[".repeat(depth)}${"]".repeat(depth)}]`).toString("base64url");
    expect(soundness({ _sd: [sha256(text)] }, [text])).toBe(depth > 32 ? "presentation_too_deep" : "sound");
  });
});

test("presentations of an SD-JWT library are accepted, whichever claims are disclosed", async () => {
  const holder = walletKey();
  const credential = await issueCredential({ issuer: "https://issuer.example.test", by: key, holder });
  const [jwt = "", ...disclosures] = credential.split("~").slice(0, -1);
  await fc.assert(
    fc.asyncProperty(fc.subarray(disclosures), async (shown) => {
      const presentation = readPresentation([jwt, ...shown, signedJwt({ typ: "kb+jwt" }, {}, holder)].join("~"));
      assertDisclosuresSound(presentation);
      const claims = await (await SDJwt.fromEncode(presentation.text, hasher)).getClaims<object>(hasher);
      expect(["sub", "given_name", "family_name"].filter((claim) => claim in claims)).toHaveLength(shown.length);
    }),
    { numRuns: 20 },
  );
});
