import { createHash, createPrivateKey, X509Certificate } from "node:crypto";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { FetchFailure } from "../../../src/clients/guarded-fetch.ts";
import { Refusal } from "../../../src/errors.ts";
import type { CredentialPolicy } from "../../../src/wallet/ports.ts";
import { credentialQuery } from "../../../src/wallet/query.ts";
import { certificatesOf } from "../../../src/wallet/signatures.ts";
import { verifyPresentation } from "../../../src/wallet/verify.ts";
import { privateCa } from "../../support/private-ca.ts";
import { bind, encoded, issueCredential, nowSeconds, sha256, signedJwt, VCT, type WalletKey, walletKey } from "../../support/wallet.ts";

const ISSUER = "https://issuer.example.test";
const CLIENT_ID = "redirect_uri:https://id.example.test/auth/link/wallet/response";
const NONCE = "n-0S6_WzA2Mj";
const by = walletKey("ES256", "k1");
const holder = walletKey();
const other = walletKey();

/** Differences from a verifier that trusts the issuer and knows its key. */
interface Setting {
  readonly policy?: Partial<CredentialPolicy>;
  readonly keys?: readonly WalletKey["jwk"][];
  readonly renewed?: readonly WalletKey["jwk"][];
  readonly roots?: readonly X509Certificate[];
  readonly status?: number | FetchFailure;
}

async function verdict(
  presentation: unknown,
  { policy = {}, keys = [by.jwk], renewed = keys, roots = [], status = 0 }: Setting = {},
): Promise<unknown> {
  const whole: CredentialPolicy = {
    trustedIssuers: [ISSUER],
    types: [VCT],
    subjectClaim: "sub",
    issuerRoots: undefined,
    status: "strict",
    ...policy,
  };
  try {
    return await verifyPresentation(
      presentation,
      { clientId: CLIENT_ID, nonce: NONCE },
      {
        policy: whole,
        query: credentialQuery(whole),
        trust: { keys: { current: async () => keys, refreshed: async () => renewed }, roots },
        lists: {
          statusOf: async () => {
            if (status instanceof FetchFailure) throw status;
            return status;
          },
        },
        clock: nowSeconds,
      },
    );
  } catch (error) {
    if (error instanceof Refusal && error.code === "access_denied") return error.reason;
    throw error;
  }
}

/** A credential with the disclosure of its subject only; ends in `~`. */
async function shown(options: { claims?: object; header?: object; signer?: WalletKey; iss?: string } = {}): Promise<string> {
  const { claims = {}, header = {}, signer = by, iss = ISSUER } = options;
  const credential = await issueCredential({ issuer: iss, by: signer, holder, claims: { ...claims }, header: { kid: "k1", ...header } });
  const [jwt, ...disclosures] = credential.split("~").slice(0, -1);
  const subject = disclosures.filter((text) => Buffer.from(text, "base64url").includes('"sub"'));
  return `${[jwt, ...subject].join("~")}~`;
}
const bound = (withoutBinding: string, binding: object = {}, signer = holder, header?: object) =>
  bind(withoutBinding, signer, { aud: CLIENT_ID, nonce: NONCE, ...binding }, header);

let good: string;
beforeAll(async () => {
  good = await shown();
});

test("a valid presentation yields issuer and subject", async () => {
  expect(await verdict(bound(good))).toEqual({ issuer: ISSUER, subject: "user-1" });
});

test("issuer and holder may sign with EdDSA", async () => {
  const [issuerKey, holderKey] = [walletKey("EdDSA", "k1"), walletKey("EdDSA")];
  const credential = await issueCredential({ issuer: ISSUER, by: issuerKey, holder: holderKey });
  expect(await verdict(bound(credential, {}, holderKey), { keys: [issuerKey.jwk] })).toMatchObject({ subject: "user-1" });
});

describe("1. the issuer-signed JWT", () => {
  test("SD-JWT VC §2.1: typ is dc+sd-jwt, or the older vc+sd-jwt", async () => {
    expect(await verdict(bound(await shown({ header: { typ: "vc+sd-jwt" } })))).toMatchObject({ subject: "user-1" });
    for (const typ of ["JWT", "kb+jwt", "DC+SD-JWT", undefined])
      expect(await verdict(bound(await shown({ header: { typ } })))).toBe("credential_of_another_kind");
  });

  test("another algorithm than those offered to wallets is refused", async () => {
    const claims = JSON.parse(Buffer.from(good.split(".")[1] ?? "", "base64url").toString());
    for (const alg of ["none", "HS256", "RS256", "ES384", 1]) {
      const jwt = `${encoded({ typ: "dc+sd-jwt", alg, kid: "k1" })}.${encoded(claims)}.${encoded("x")}`;
      expect(await verdict(bound(`${jwt}~`))).toBe("credential_algorithm_not_accepted");
    }
  });

  test.for(["crit", "jwk", "jku", "x5u", "zip", "b64"])("RFC 8725 §3: a header with %s is refused", async (member) => {
    expect(await verdict(bound(await shown({ header: { [member]: ["x"] } })))).toBe("presentation_malformed_header");
  });

  test("an issuer that is not trusted is refused before its keys are fetched; an empty list refuses all issuers", async () => {
    const keys: never[] = [];
    expect(await verdict(bound(await shown({ iss: "https://other.example.test" })), { keys })).toBe("issuer_not_trusted");
    expect(await verdict(bound(await shown({ iss: `${ISSUER}/` })), { keys })).toBe("issuer_not_trusted");
    expect(await verdict(bound(await shown({ claims: { iss: undefined } })), { keys })).toBe("issuer_not_trusted");
    expect(await verdict(bound(good), { policy: { trustedIssuers: [] } })).toBe("issuer_not_trusted");
  });

  test("a signature by another key, or by a key that the header does not name, is refused", async () => {
    expect(await verdict(bound(await shown({ signer: other })))).toBe("issuer_signature_wrong");
    expect(await verdict(bound(await shown({ header: { kid: "k2" } })))).toBe("issuer_key_unknown");
    expect(await verdict(bound(await shown({ header: { kid: "k2" } })), { renewed: [{ ...by.jwk, kid: "k2" }] })).toMatchObject({
      issuer: ISSUER,
    });
    expect(await verdict(bound(await shown({ header: { kid: undefined } })), { keys: [by.jwk, other.jwk] })).toBe("issuer_key_ambiguous");
    expect(await verdict(bound(good), { keys: [walletKey("EdDSA", "k1").jwk] })).toBe("issuer_key_unknown");
  });

  test("RFC 7515 §4.1.4: the key of a certificate counts whatever kid says", async () => {
    const ca = privateCa();
    const { key, cert } = ca.serverFor("issuer.example.test");
    const signer: WalletKey = { alg: "ES256", privateKey: createPrivateKey(key), jwk: {} };
    const x5c = [new X509Certificate(cert).raw.toString("base64")];
    const setting = { keys: [], roots: certificatesOf(ca.certificatePem) };
    expect(await verdict(bound(await shown({ signer, header: { x5c } })), setting)).toMatchObject({ subject: "user-1" });
    expect(await verdict(bound(await shown({ header: { x5c } })), setting)).toBe("issuer_signature_wrong");
  });

  test("a claim that was changed after signing is refused", async () => {
    const [header, claims = "", signature] = good.split("~")[0]?.split(".") ?? [];
    const changed = { ...JSON.parse(Buffer.from(claims, "base64url").toString()), exp: nowSeconds() + 999_999 };
    expect(await verdict(bound(`${header}.${encoded(changed)}.${signature}~`))).toBe("issuer_signature_wrong");
  });
});

describe("2. disclosures", () => {
  test("a presentation without the requested claim is refused", async () => {
    expect(await verdict(bound(`${good.split("~")[0]}~`))).toBe("claims_missing");
  });

  test("a disclosure made by the holder is refused", async () => {
    const [jwt] = good.split("~");
    expect(await verdict(bound(`${jwt}~${encoded(["salt", "sub", "user-2"])}~`))).toBe("disclosure_unreferenced");
  });

  test("a disclosure of another credential is refused", async () => {
    const theirs = (await shown({ claims: { sub: "user-2" } })).split("~")[1];
    expect(await verdict(bound(`${good.split("~")[0]}~${theirs}~`))).toBe("disclosure_unreferenced");
  });
});

describe("3. type, validity and status", () => {
  test("a vct that was not requested is refused", async () => {
    for (const vct of ["urn:other", undefined, 1])
      expect(await verdict(bound(await shown({ claims: { vct } })))).toBe("credential_type_not_asked_for");
    expect(await verdict(bound(await shown({ claims: { vct: "urn:other" } })), { policy: { types: [VCT, "urn:other"] } })).toMatchObject({
      issuer: ISSUER,
    });
  });

  const now = nowSeconds();
  test.for([
    [{ exp: now - 120 }, "credential_expired"],
    [{ exp: now - 30 }, "accepted"],
    [{ nbf: now + 120 }, "credential_not_yet_valid"],
    [{ iat: now + 120 }, "credential_not_yet_valid"],
    [{ nbf: now + 30 }, "accepted"],
    [{ exp: undefined, iat: undefined }, "accepted"],
    [{ exp: "tomorrow" }, "credential_time_malformed"],
    [{ nbf: null }, "credential_time_malformed"],
  ] as const)("%j: %s", async ([claims, expected]) => {
    const found = await verdict(bound(await shown({ claims })));
    expect(typeof found === "string" ? found : "accepted").toBe(expected);
  });

  const status = { status_list: { uri: `${ISSUER}/statuses`, idx: 3 } };
  const cases: [what: string, setting: Setting, found: string][] = [
    ["valid", { status: 0 }, "accepted"],
    ["invalid", { status: 1 }, "credential_revoked"],
    ["suspended", { status: 2 }, "credential_suspended"],
    ["application-specific", { status: 3 }, "credential_revoked"],
    ["unavailable, strict", { status: new FetchFailure("unreachable") }, "status_list_unreachable"],
    ["unavailable, lenient", { status: new FetchFailure("unreachable"), policy: { status: "lenient" } }, "accepted"],
    ["invalid, lenient", { status: 1, policy: { status: "lenient" } }, "credential_revoked"],
  ];
  test.for(cases)("decides on a credential whose status is %s", async ([, setting, expected]) => {
    const found = await verdict(bound(await shown({ claims: { status } })), setting);
    expect(typeof found === "string" ? found : "accepted").toBe(expected);
  });

  test.for([{}, { status_list: {} }, { status_list: { uri: "x", idx: 1 } }, { status_list: { uri: ISSUER, idx: -1 } }, "x", null])(
    "a malformed status is refused: %j",
    async (unread) => {
      expect(await verdict(bound(await shown({ claims: { status: unread } })))).toBe("status_malformed");
    },
  );
});

describe("4. key binding", () => {
  test("RFC 9901 §7.3: a presentation without key binding is refused", async () => {
    expect(await verdict(good)).toBe("key_binding_missing");
    expect(await verdict(await shown({ claims: { cnf: undefined } }))).toBe("key_binding_missing");
    expect(await verdict(bound(await shown({ claims: { cnf: undefined } })))).toBe("holder_key_missing");
    expect(await verdict(bound(await shown({ claims: { cnf: { kid: "k" } } })))).toBe("holder_key_missing");
  });

  test("a holder key with private members, or off its curve, is refused", async () => {
    const whole = holder.privateKey.export({ format: "jwk" });
    expect(await verdict(bound(await shown({ claims: { cnf: { jwk: whole } } })))).toBe("holder_key_missing");
    const offCurve = { ...holder.jwk, x: holder.jwk.y };
    expect(await verdict(bound(await shown({ claims: { cnf: { jwk: offCurve } } })))).toBe("key_binding_signature_wrong");
  });

  const now = nowSeconds();
  const cases: [what: string, make: () => string, found: string][] = [
    ["by another holder's key", () => bound(good, {}, other), "key_binding_signature_wrong"],
    ["of another type", () => bound(good, {}, holder, { typ: "JWT" }), "key_binding_of_another_kind"],
    ["without a type", () => bound(good, {}, holder, {}), "key_binding_of_another_kind"],
    ["with alg none", () => bound(good, {}, holder, { typ: "kb+jwt", alg: "none" }), "key_binding_algorithm_not_accepted"],
    ["with a key in its header", () => bound(good, {}, holder, { typ: "kb+jwt", jwk: holder.jwk }), "key_binding_malformed_header"],
    ["that is not a JWT", () => `${good}x.y`, "key_binding_malformed"],
    ["for another verifier", () => bound(good, { aud: "redirect_uri:https://evil.example.test/" }), "key_binding_for_another"],
    ["for the client_id without its prefix", () => bound(good, { aud: CLIENT_ID.slice(13) }), "key_binding_for_another"],
    ["for a list of verifiers", () => bound(good, { aud: [CLIENT_ID] }), "key_binding_for_another"],
    ["for another request", () => bound(good, { nonce: "another" }), "key_binding_nonce_wrong"],
    ["without a nonce", () => bound(good, { nonce: undefined }), "key_binding_nonce_wrong"],
    ["with an iat ten minutes ago", () => bound(good, { iat: now - 600 }), "key_binding_not_fresh"],
    ["with an iat in the future", () => bound(good, { iat: now + 600 }), "key_binding_not_fresh"],
    ["without iat", () => bound(good, { iat: undefined }), "key_binding_not_fresh"],
    ["with an iat that is a string", () => bound(good, { iat: String(now) }), "key_binding_not_fresh"],
    ["that has expired", () => bound(good, { exp: now - 120 }), "key_binding_expired"],
    ["that is not valid yet", () => bound(good, { nbf: now + 120 }), "key_binding_not_yet_valid"],
    ["without sd_hash", () => bound(good, { sd_hash: undefined }), "key_binding_hash_wrong"],
    ["over the credential without its last tilde", () => bound(good, { sd_hash: sha256(good.slice(0, -1)) }), "key_binding_hash_wrong"],
  ];
  test.for(cases)("a key binding %s is refused", async ([, make, found]) => {
    expect(await verdict(make())).toBe(found);
  });

  test("RFC 9901 §4.3: a key binding is by the key in cnf, whatever kid says", async () => {
    expect(await verdict(bound(good, {}, holder, { typ: "kb+jwt", kid: "of the wallet" }))).toMatchObject({ subject: "user-1" });
    expect(await verdict(bound(good, {}, other, { typ: "kb+jwt", kid: "of the wallet" }))).toBe("key_binding_signature_wrong");
  });

  test("disclosures removed after the holder signed are refused", async () => {
    const binding = bound(good).split("~").at(-1);
    expect(await verdict(`${good.split("~")[0]}~${binding}`)).toBe("key_binding_hash_wrong");
  });

  test("RFC 9901 §4.1.1: disclosures and presentation are hashed with the credential's _sd_alg", async () => {
    const sha512 = (text: string) => createHash("sha512").update(text).digest("base64url");
    const disclosure = encoded(["salt", "sub", "user-1"]);
    const claims = { iss: ISSUER, vct: VCT, cnf: { jwk: holder.jwk }, _sd_alg: "sha-512", _sd: [sha512(disclosure)] };
    const presented = `${signedJwt({ typ: "dc+sd-jwt", kid: "k1" }, claims, by)}~${disclosure}~`;
    expect(await verdict(bound(presented, { sd_hash: sha512(presented) }))).toMatchObject({ subject: "user-1" });
    expect(await verdict(bound(presented))).toBe("key_binding_hash_wrong");
  });
});

describe("the subject", () => {
  test.for(["", 7, { a: 1 }, "x".repeat(513), "a\0b"])("%j is refused", async (sub) => {
    expect(await verdict(bound(await shown({ claims: { sub } })))).toBe("subject_missing");
  });

  test("is the claim that the operator configures", async () => {
    const [jwt = "", ...disclosures] = (await issueCredential({ issuer: ISSUER, by, holder })).split("~").slice(0, -1);
    const all = `${[jwt, ...disclosures].join("~")}~`;
    expect(await verdict(bound(all), { policy: { subjectClaim: "family_name" } })).toEqual({ issuer: ISSUER, subject: "Lovelace" });
    expect(await verdict(bound(good), { policy: { subjectClaim: "family_name" } })).toBe("claims_missing");
  });
});

test.for([undefined, 1, null, {}, "", "a", "a~b", "~", `${"a".repeat(60_001)}~b`, `a${"~".repeat(200)}b`])(
  "%j is refused as a presentation",
  async (text) => {
    expect(await verdict(text)).toMatch(/^(presentation_malformed|key_binding_missing)$/);
  },
);

test("a presentation with another spelling is refused", async () => {
  const text = bound(good);
  for (const changed of [`${text}=`, ` ${text}`, `${text}\n`, text.replace(".", "..")])
    expect(typeof (await verdict(changed))).toBe("string");
});

test("a presentation with any one character changed is refused", async () => {
  const text = bound(good);
  const alphabet = "ABCxyz019-_~.= ";
  await fc.assert(
    fc.asyncProperty(fc.nat(text.length - 1), fc.constantFrom(...alphabet), async (at, character) => {
      fc.pre(text[at] !== character);
      expect(await verdict(text.slice(0, at) + character + text.slice(at + 1))).toMatch(/^\w+$/);
    }),
    { numRuns: 500 },
  );
});

test("a presentation with parts left out, repeated or moved proves no other subject", async () => {
  const parts = bound(await issueCredential({ issuer: ISSUER, by, holder, header: { kid: "k1" } })).split("~");
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...parts), { maxLength: 7 }), async (shuffled) => {
      const found = await verdict(shuffled.join("~"));
      if (typeof found !== "string")
        expect([shuffled.toSorted(), found]).toEqual([parts.toSorted(), { issuer: ISSUER, subject: "user-1" }]);
    }),
    { numRuns: 300 },
  );
});

test("a JWT of another type is refused as a credential", async () => {
  expect(await verdict(bound(`${signedJwt({ typ: "at+jwt", kid: "k1" }, { iss: ISSUER, vct: VCT }, by)}~`))).toBe(
    "credential_of_another_kind",
  );
});
