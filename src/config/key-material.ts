import { createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from "node:crypto";
import { z } from "zod";
import { readMldsaPrivate, readMldsaPublic } from "../ml-dsa-key.ts";

const ARMOUR = /-----BEGIN [A-Z0-9 ]+-----[\s\S]+?-----END [A-Z0-9 ]+-----/g;

/** The environment cannot always carry line ends, so that `\n` in two characters stands for one. */
const unfold = (value: string) => (value.includes("-----BEGIN") ? value.replaceAll("\\n", "\n") : value);

const attempt = <T>(read: () => T): T | undefined => {
  try {
    return read();
  } catch {
    return undefined; // what the parser says may quote the text
  }
};

/** Reads a PKCS#8 or PKCS#1 PEM text. Certificates and public keys are not taken for private ones, nor the other way round. */
export const readPrivateKey = (pem: string): KeyObject | undefined => attempt(() => createPrivateKey(pem));

export const readPublicKey = (pem: string): KeyObject | undefined =>
  /^-----BEGIN (RSA )?PUBLIC KEY-----/.test(pem.trim()) ? attempt(() => createPublicKey(pem)) : undefined;

const certificates = (pem: string) => {
  const blocks = pem.match(ARMOUR) ?? [];
  return blocks.length === 0 ? undefined : attempt(() => blocks.map((block) => new X509Certificate(block)));
};

/** Whether a certificate chain (PEM, leaf first) belongs to a private key (PEM). */
export const certificateFits = (chain: string, key: string) => {
  const leaf = certificates(chain)?.[0];
  const held = readPrivateKey(key);
  return leaf !== undefined && held !== undefined && leaf.checkPrivateKey(held);
};

/** Whether a certificate (PEM, the leaf of its chain first) names a host. */
export const certificateNames = (chain: string, host: string) => certificates(chain)?.[0]?.checkHost(host) !== undefined;

/** Whether two PEM texts are the two halves of one key pair. */
export const isPair = (privatePem: string, publicPem: string) => {
  const held = readPrivateKey(privatePem);
  const shown = readPublicKey(publicPem);
  return held !== undefined && shown !== undefined && createPublicKey(held).equals(shown);
};

/** The public half, SPKI PEM. The text must have been validated as a private key. */
export const publicHalf = (privatePem: string) =>
  createPublicKey(createPrivateKey(privatePem)).export({ type: "spki", format: "pem" }).toString();

const keyText = (test: (value: string) => boolean, fault: string, remedy: string) =>
  z.string().transform(unfold).refine(test, `${fault}; ${remedy}`);

const GENERATE = "make one with `countersign keys generate`, and give it as PEM text or @path";

export const ed25519Private = () =>
  keyText((pem) => readPrivateKey(pem)?.asymmetricKeyType === "ed25519", "is no Ed25519 private key in PEM form", GENERATE);

export const ed25519Public = () =>
  keyText((pem) => readPublicKey(pem)?.asymmetricKeyType === "ed25519", "is no Ed25519 public key in PEM form", GENERATE);

export const rsaPrivate = () =>
  keyText(
    (pem) => {
      const key = readPrivateKey(pem);
      return key?.asymmetricKeyType === "rsa" && (key.asymmetricKeyDetails?.modulusLength ?? 0) >= 2048;
    },
    "is no RSA private key of at least 2048 bits in PEM form",
    GENERATE,
  );

export const p256Private = () =>
  keyText(
    (pem) => readPrivateKey(pem)?.asymmetricKeyDetails?.namedCurve === "prime256v1",
    "is no P-256 private key in PEM form",
    "make one with `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256`, and give it as PEM text or @path",
  );

export const mldsaPrivate = () =>
  keyText(
    (value) => readMldsaPrivate(value) !== undefined,
    "is no ML-DSA-65 private key with its seed, in PKCS#8 PEM or JWK form",
    "make one with `countersign keys generate --ml-dsa`, and give it as PEM text, JWK or @path",
  );

export const verificationKeys = () =>
  keyText(
    (bundle) => {
      const blocks = bundle.match(ARMOUR) ?? [];
      const rest = bundle.replace(ARMOUR, "").trim();
      return (
        blocks.length > 0 &&
        rest === "" &&
        blocks.every(
          (pem) => readMldsaPublic(pem) !== undefined || ["ed25519", "rsa"].includes(readPublicKey(pem)?.asymmetricKeyType ?? ""),
        )
      );
    },
    "is no bundle of Ed25519, RSA or ML-DSA-65 public keys in PEM form",
    "give PUBLIC KEY blocks one after the other, and nothing private",
  );

export const tlsCertificate = () =>
  keyText((pem) => certificates(pem) !== undefined, "is no certificate in PEM form", "give CERTIFICATE blocks as PEM text or @path");

export const tlsPrivateKey = () =>
  keyText((pem) => readPrivateKey(pem) !== undefined, "is no unencrypted private key in PEM form", "give the key as PEM text or @path");
