import { createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from "node:crypto";
import { z } from "zod";
import { readMldsaPrivate, readMldsaPublic } from "../ml-dsa-key.ts";

const ARMOUR = /-----BEGIN [A-Z0-9 ]+-----[\s\S]+?-----END [A-Z0-9 ]+-----/g;

/** Environment variables cannot always hold line ends, so the two characters `\n` are read as one. */
const unfold = (value: string) => (value.includes("-----BEGIN") ? value.replaceAll("\\n", "\n") : value);

const attempt = <T>(read: () => T): T | undefined => {
  try {
    return read();
  } catch {
    return undefined; // the parser's message may quote the key
  }
};

const readPrivateKey = (pem: string): KeyObject | undefined => attempt(() => createPrivateKey(pem));

const readPublicKey = (pem: string): KeyObject | undefined =>
  /^-----BEGIN (RSA )?PUBLIC KEY-----/.test(pem.trim()) ? attempt(() => createPublicKey(pem)) : undefined;

const certificates = (pem: string) => {
  const blocks = pem.match(ARMOUR) ?? [];
  return blocks.length === 0 ? undefined : attempt(() => blocks.map((block) => new X509Certificate(block)));
};

/** Whether a certificate chain (leaf first) belongs to a private key, both PEM. */
export const certificateFits = (chain: string, key: string) => {
  const leaf = certificates(chain)?.[0];
  const privateKey = readPrivateKey(key);
  return leaf !== undefined && privateKey !== undefined && leaf.checkPrivateKey(privateKey);
};

/** Whether a certificate (PEM, the leaf of its chain first) names a host. */
export const certificateNames = (chain: string, host: string) => certificates(chain)?.[0]?.checkHost(host) !== undefined;

/** When the first of some certificates (PEM) expires, in seconds since the epoch. */
export const firstExpiry = (pem: string) => Math.min(...(certificates(pem) ?? []).map(({ validToDate }) => validToDate.getTime() / 1000));

/** Whether two PEM texts are the two halves of one key pair. */
export const isPair = (privatePem: string, publicPem: string) => {
  const privateKey = readPrivateKey(privatePem);
  const publicKey = readPublicKey(publicPem);
  return privateKey !== undefined && publicKey !== undefined && createPublicKey(privateKey).equals(publicKey);
};

const keyText = (test: (value: string) => boolean, fault: string, remedy: string) =>
  z.string().transform(unfold).refine(test, `${fault}; ${remedy}`);

const generate = (option = "") => `make one with \`countersign keys generate${option}\`, and give it as PEM text or @path`;

export const ed25519Private = () =>
  keyText((pem) => readPrivateKey(pem)?.asymmetricKeyType === "ed25519", "is not an Ed25519 private key in PEM form", generate());

export const ed25519Public = () =>
  keyText((pem) => readPublicKey(pem)?.asymmetricKeyType === "ed25519", "is not an Ed25519 public key in PEM form", generate());

export const rsaPrivate = () =>
  keyText(
    (pem) => {
      const key = readPrivateKey(pem);
      return key?.asymmetricKeyType === "rsa" && (key.asymmetricKeyDetails?.modulusLength ?? 0) >= 2048;
    },
    "is not an RSA private key of at least 2048 bits in PEM form",
    generate(" --rsa"),
  );

export const p256Private = () =>
  keyText(
    (pem) => readPrivateKey(pem)?.asymmetricKeyDetails?.namedCurve === "prime256v1",
    "is not a P-256 private key in PEM form",
    "make one with `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256`, and give it as PEM text or @path",
  );

export const mldsaPrivate = () =>
  keyText(
    (value) => readMldsaPrivate(value) !== undefined,
    "is not an ML-DSA-65 private key with its seed, in PKCS#8 PEM or JWK form",
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
    "is not a bundle of Ed25519, RSA or ML-DSA-65 public keys in PEM form",
    "give PUBLIC KEY blocks one after the other, and nothing private",
  );

export const tlsCertificate = () =>
  keyText((pem) => certificates(pem) !== undefined, "is not a certificate in PEM form", "give CERTIFICATE blocks as PEM text or @path");

export const tlsPrivateKey = () =>
  keyText((pem) => readPrivateKey(pem) !== undefined, "is not an unencrypted private key in PEM form", "give the key as PEM text or @path");
