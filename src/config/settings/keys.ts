import { ed25519Private, ed25519Public, mldsaPrivate, rsaPrivate, verificationKeys } from "../key-material.ts";
import { oneOf, settingsOf } from "./forms.ts";

const setting = settingsOf("Keys");

export const KEY_SETTINGS = {
  JWT_PRIVATE_KEY: setting(ed25519Private().optional(), "Ed25519 private key, PKCS#8 PEM, that signs tokens.", {
    unset: "generated once and kept under DATA_DIR; in production the start is refused",
    file: true,
  }),
  JWT_PUBLIC_KEY: setting(ed25519Public().optional(), "Ed25519 public key, SPKI PEM, of JWT_PRIVATE_KEY.", {
    unset: "derived from JWT_PRIVATE_KEY",
    file: true,
  }),
  JWT_PREVIOUS_PRIVATE_KEY: setting(
    ed25519Private().optional(),
    "The previous Ed25519 private key, which signs until JWT_PRIVATE_KEY has been published for 300 s. See docs/keys.md.",
    {
      file: true,
    },
  ),
  JWT_RETIRED_PUBLIC_KEYS: setting(
    verificationKeys().optional(),
    "PEM bundle of earlier and upcoming public keys, which are published and accepted for verification. See docs/keys.md.",
    {
      file: true,
    },
  ),
  ID_TOKEN_SIGNING_ALG: setting(
    oneOf(["EdDSA", "RS256"]).default("EdDSA"),
    "Signature algorithm of ID tokens. Access tokens are never signed with `RS256`.",
  ),
  JWT_RSA_PRIVATE_KEY: setting(rsaPrivate().optional(), "RSA private key (PEM, at least 2048 bits) for RS256.", {
    unset: "generated with RS256 outside production; in production RS256 is refused without it",
    file: true,
  }),
  JWT_MLDSA_PRIVATE_KEY: setting(
    mldsaPrivate().optional(),
    "ML-DSA-65 private key, PKCS#8 PEM or JWK. When set, its public key is published even while hybrid signing is off.",
    {
      file: true,
    },
  ),
};
