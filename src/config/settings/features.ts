import { DAY, describedIn, flag, issuers, oneOf, seconds } from "./forms.ts";

const meta = describedIn("Identity assertions, post-quantum signatures");

export const FEATURE_SETTINGS = {
  ID_JAG_ENABLED: flag().default(false).meta(meta("Whether identity assertions of other issuers are accepted (jwt-bearer grant).")),
  ID_JAG_TRUSTED_ISSUERS: issuers()
    .default([])
    .meta(meta("Issuers whose identity assertions are accepted; an empty list rejects every assertion.")),
  ID_JAG_MAX_ASSERTION_LIFETIME: seconds(1, DAY)
    .default(300)
    .meta(meta("Seconds that an identity assertion may live at most, and that its `jti` is remembered.")),
  HYBRID_SIGNING_ENABLED: flag().default(false).meta(meta("Whether access tokens are signed with ML-DSA-65 besides Ed25519.")),
  PQC_TOKEN_DELIVERY: oneOf(["reference", "self-contained"])
    .default("reference")
    .meta(meta("How the ML-DSA-65 signature reaches a verifier: by introspection, or in the token answer too.")),
  PQC_SELF_CONTAINED_ACK: flag()
    .default(false)
    .meta(meta("Acknowledges the size of `self-contained` delivery, which is refused without it.")),
};
