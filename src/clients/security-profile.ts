import { type AuthMethod, CLIENT_ASSERTION_ALGORITHMS, type Client, OPERATOR_AUTH_METHODS } from "./client.ts";

/** What a client's requests must fulfil, and what it is given. */
export interface Demands {
  /** Whether authorization requests must be pushed (RFC 9126). */
  readonly pushedRequests: boolean;
  /** Whether tokens must be bound to a key (RFC 9449). */
  readonly boundTokens: boolean;
  readonly authMethods: readonly AuthMethod[];
  /** Signature algorithms of client assertions and of proofs of possession. */
  readonly algorithms: readonly string[];
  /** Seconds by which a proof of possession may be ahead of the clock. */
  readonly proofAhead: number;
  /** Whether the audience of client assertions must be the issuer, as a text and not a list, whatever CLIENT_ASSERTION_AUDIENCE says. */
  readonly issuerAudience: boolean;
  /** Seconds that a code lives at most. */
  readonly codeLifetime: number;
  /** Whether a refresh token is replaced at each use. */
  readonly rotation: boolean;
}

/** FAPI 2.0 Security Profile. `EdDSA` and `Ed25519` name the same algorithm (RFC 9864). */
const FAPI2: Demands = {
  pushedRequests: true,
  boundTokens: true,
  authMethods: ["private_key_jwt"],
  algorithms: ["ES256", "PS256", "EdDSA", "Ed25519"],
  proofAhead: 60,
  issuerAudience: true,
  codeLifetime: 60,
  rotation: false,
};

type Profiled = Pick<Client, "securityProfile" | "requirePushedAuthorizationRequests" | "dpopBoundAccessTokens">;

/** Whether ID tokens and logout tokens for a client are signed with EdDSA, whatever ID_TOKEN_SIGNING_ALG says. @see FAPI 2.0 §5.4.1 */
export const demandsEdDsa = ({ securityProfile }: Pick<Client, "securityProfile">): boolean => securityProfile === "fapi2";

/** The demands on a client: those of its profile, else what it or an operator has chosen. Pure. @see docs/protocol.md#security-profile */
export const demandsOf = (client: Profiled): Demands =>
  client.securityProfile === "fapi2"
    ? FAPI2
    : {
        pushedRequests: client.requirePushedAuthorizationRequests,
        boundTokens: client.dpopBoundAccessTokens,
        authMethods: OPERATOR_AUTH_METHODS,
        algorithms: CLIENT_ASSERTION_ALGORITHMS,
        proofAhead: Number.POSITIVE_INFINITY,
        issuerAudience: false,
        codeLifetime: Number.POSITIVE_INFINITY,
        rotation: true,
      };
