const ALGORITHMS = "EdDSA Ed25519 ES256 ES384 ES512 PS256 PS384 PS512 RS256 RS384 RS512";

/** The challenge to a request without a token, of a resource of this server that takes bearer tokens and bound ones. @see RFC 9449 §7.1 */
export const eitherScheme = (issuer: string): string => `Bearer realm="${issuer}", DPoP realm="${issuer}", algs="${ALGORITHMS}"`;
