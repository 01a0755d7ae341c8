import { ed25519Private, ed25519Public, mldsaPrivate, rsaPrivate, verificationKeys } from "../key-material.ts";
import { describedIn, oneOf } from "./forms.ts";

const meta = describedIn("Keys");

export const KEY_SETTINGS = {
  JWT_PRIVATE_KEY: ed25519Private()
    .optional()
    .meta(
      meta("Ed25519 private key, PKCS#8 PEM, that signs tokens.", {
        unset: "generated once and kept under DATA_DIR; in production the start is refused",
        file: true,
      }),
    ),
  JWT_PUBLIC_KEY: ed25519Public()
    .optional()
    .meta(meta("Ed25519 public key, SPKI PEM, of JWT_PRIVATE_KEY.", { unset: "derived from JWT_PRIVATE_KEY", file: true })),
  JWT_PREVIOUS_PRIVATE_KEY: ed25519Private()
    .optional()
    .meta(
      meta("The previous Ed25519 private key, which signs until JWT_PRIVATE_KEY has been published for 300 s. See docs/keys.md.", {
        file: true,
      }),
    ),
  JWT_RETIRED_PUBLIC_KEYS: verificationKeys()
    .optional()
    .meta(
      meta("PEM bundle of earlier and upcoming public keys, which are published and accepted for verification. See docs/keys.md.", {
        file: true,
      }),
    ),
  ID_TOKEN_SIGNING_ALG: oneOf(["EdDSA", "RS256"])
    .default("EdDSA")
    .meta(meta("Signature algorithm of ID tokens. Access tokens are never signed with `RS256`.")),
  JWT_RSA_PRIVATE_KEY: rsaPrivate()
    .optional()
    .meta(
      meta("RSA private key (PEM, at least 2048 bits) for RS256.", {
        unset: "generated with RS256 outside production; in production RS256 is refused without it",
        file: true,
      }),
    ),
  JWT_MLDSA_PRIVATE_KEY: mldsaPrivate()
    .optional()
    .meta(
      meta("ML-DSA-65 private key, PKCS#8 PEM or JWK. When set, its public key is published even while hybrid signing is off.", {
        file: true,
      }),
    ),
};
