import { X509Certificate } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Refusal } from "../../../src/errors.ts";
import { certificatesOf, certifiedKey, metadataUrl } from "../../../src/wallet/signatures.ts";
import { privateCa } from "../../support/private-ca.ts";
import { nowSeconds } from "../../support/wallet.ts";

const ca = privateCa();
const roots = certificatesOf(ca.certificatePem);
const base64 = (pem: string) => new X509Certificate(pem).raw.toString("base64");
const leaf = base64(ca.serverFor("issuer.example.test").cert);
const ISSUER = "https://issuer.example.test/eu";

const verdict = (x5c: unknown, issuer = ISSUER, now = nowSeconds(), trusted = roots): string => {
  try {
    return String(certifiedKey(x5c, issuer, trusted, now).crv);
  } catch (error) {
    if (error instanceof Refusal) return error.reason;
    throw error;
  }
};

describe("certificates in x5c", () => {
  const stranger = privateCa();
  const cases: [what: string, x5c: unknown, found: string][] = [
    ["a leaf below a root", [leaf], "P-256"],
    ["a leaf and the root itself", [leaf, base64(ca.certificatePem)], "P-256"],
    ["a leaf of another authority", [base64(stranger.serverFor("issuer.example.test").cert)], "issuer_certificate_not_trusted"],
    [
      "a leaf of another authority, followed by a trusted root",
      [base64(stranger.serverFor("issuer.example.test").cert), base64(ca.certificatePem)],
      "issuer_certificate_not_trusted",
    ],
    ["a leaf below another leaf", [leaf, base64(ca.serverFor("issuer.example.test").cert)], "issuer_certificate_not_trusted"],
    ["a leaf of another host", [base64(ca.serverFor("other.example.test").cert)], "issuer_certificate_of_another"],
    ["a leaf of the parent domain", [base64(ca.serverFor("example.test").cert)], "issuer_certificate_of_another"],
    ["a string", leaf, "issuer_certificate_malformed"],
    ["an empty list", [], "issuer_certificate_malformed"],
    ["six certificates", Array(6).fill(leaf), "issuer_certificate_malformed"],
    ["invalid DER", ["AAAA"], "issuer_certificate_malformed"],
    ["a number", [1], "issuer_certificate_malformed"],
  ];
  test.for(cases)("%s", ([, x5c, found]) => {
    expect(verdict(x5c)).toBe(found);
  });

  test("a certificate outside of its validity period is refused", () => {
    const day = 86_400;
    expect(verdict([leaf], ISSUER, nowSeconds() + 40 * day)).toBe("issuer_certificate_out_of_time");
    expect(verdict([leaf], ISSUER, nowSeconds() - 2 * day)).toBe("issuer_certificate_out_of_time");
  });

  test("without roots every certificate is refused", () => {
    expect(verdict([leaf], ISSUER, nowSeconds(), [])).toBe("issuer_certificate_not_trusted");
  });
});

test("a changed certificate never throws anything but a refusal", () => {
  const whole = Buffer.from(leaf, "base64");
  const authority = Buffer.from(base64(ca.certificatePem), "base64");
  fc.assert(
    fc.property(fc.constantFrom(whole, authority), fc.nat(), fc.nat(255), fc.boolean(), (der, at, byte, first) => {
      const changed = Buffer.from(der);
      changed[at % changed.length] = byte;
      const chain = first ? [changed.toString("base64"), base64(ca.certificatePem)] : [leaf, changed.toString("base64")];
      expect(verdict(chain)).toMatch(/^(issuer_certificate_\w+|P-256)$/);
    }),
    { numRuns: 400 },
  );
});

test.for([
  ["https://issuer.example.test", "https://issuer.example.test/.well-known/jwt-vc-issuer"],
  ["https://issuer.example.test/", "https://issuer.example.test/.well-known/jwt-vc-issuer"],
  ["https://issuer.example.test/a/", "https://issuer.example.test/.well-known/jwt-vc-issuer/a"],
  ["https://issuer.example.test:8443/a/b", "https://issuer.example.test:8443/.well-known/jwt-vc-issuer/a/b"],
] as const)("SD-JWT VC §5: the metadata of %s is at %s", ([issuer, url]) => {
  expect(metadataUrl(issuer)).toBe(url);
});
