/** Who calls, as a verified access token says it. Frozen, and shared between requests that carry the same token. */
export interface Principal {
  /** The user, or the client itself if no user is involved. Unique only together with `issuer`. */
  readonly sub: string;
  /** The client that holds the token; undefined when the issuer does not say. */
  readonly clientId: string | undefined;
  /** The granted scopes. Compare them exactly: no scope implies another. */
  readonly scopes: readonly string[];
  /** The agents that act for `sub`: the one that acts now comes first, the one that was delegated to first comes last. */
  readonly actors: readonly string[];
  /** Every resource the token is good for; this one is among them. */
  readonly audience: readonly string[];
  /** Seconds since the epoch. */
  readonly expiresAt: number;
  /** How the user signed in (RFC 9470 §6): the class, the methods, and when in seconds since the epoch; where the issuer says it. */
  readonly acr?: string;
  readonly amr?: readonly string[];
  readonly authTime?: number;
  /** The authorization server that vouches for all this. */
  readonly issuer: string;
  /** Thumbprint of the key that the token is bound to; the request has proven that its sender has the key (RFC 9449). */
  readonly jkt?: string;
}
