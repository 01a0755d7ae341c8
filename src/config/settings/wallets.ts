import { p256Private, tlsCertificate } from "../key-material.ts";
import { describedIn, flag, issuers, listOf, oneOf, SPACES_OR_COMMAS, text } from "./forms.ts";

const meta = describedIn("Wallets");

/** Claims that tell of the credential, not of the person. */
const NO_SUBJECT: ReadonlySet<string> = new Set(["iss", "iat", "nbf", "exp", "cnf", "vct", "status", "_sd", "_sd_alg"]);

export const WALLET_SETTINGS = {
  WALLET_FEDERATION_ENABLED: flag()
    .default(false)
    .meta(meta("Whether people may link the credential of a wallet to their account (OpenID4VP 1.0).")),
  WALLET_TRUSTED_ISSUERS: issuers()
    .default([])
    .meta(meta("Issuers (`iss`) whose credentials are taken; an empty list refuses every credential.")),
  WALLET_CREDENTIAL_TYPES: listOf(
    SPACES_OR_COMMAS,
    (type) => URL.canParse(type),
    "names something that is no credential type",
    "give the `vct` of each type, an URI, separated by spaces or commas",
  )
    .default(["urn:eudi:pid:1"])
    .meta(meta("Credential types (`vct`) that a wallet is asked for; one of them will do.")),
  WALLET_SUBJECT_CLAIM: text(
    (value) => /^[A-Za-z0-9_-]{1,64}$/.test(value) && !NO_SUBJECT.has(value),
    "is no claim that can tell people apart",
    "give the name of one claim that the issuers hold stable, unique and never give again",
  )
    .default("sub")
    .meta(meta("Claim of the credential that, within its issuer, stands for the person: stable, unique, never given again.")),
  WALLET_ISSUER_ROOTS: tlsCertificate()
    .optional()
    .meta(
      meta("Authorities (PEM) up to which a credential's own certificate chain (`x5c`) is followed.", {
        unset: "keys come from the issuer's `/.well-known/jwt-vc-issuer` alone",
        file: true,
      }),
    ),
  WALLET_CREDENTIAL_STATUS: oneOf(["strict", "lenient"])
    .default("strict")
    .meta(
      meta(
        "A credential whose status list cannot be had: refused (`strict`), or taken (`lenient`). One that the list says is revoked or suspended is always refused.",
      ),
    ),
  WALLET_VERIFIER_CERT: tlsCertificate()
    .optional()
    .meta(
      meta("Certificate chain (PEM, leaf first, P-256 key) by which wallets know this server; requests are then signed.", {
        unset: "unsigned requests, which name nobody but the address that they answer to",
        file: true,
      }),
    ),
  WALLET_VERIFIER_KEY: p256Private()
    .optional()
    .meta(meta("Private key (PEM, P-256) of WALLET_VERIFIER_CERT.", { file: true })),
  WALLET_CLIENT_ID_PREFIX: oneOf(["x509_san_dns", "x509_hash"])
    .default("x509_san_dns")
    .meta(meta("How signed requests name this server: by the host that WALLET_VERIFIER_CERT names, or by the certificate's hash.")),
};
