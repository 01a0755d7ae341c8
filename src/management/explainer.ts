import type { parseAuthorizationRequest } from "../protocol/authorization-request.ts";
import type { parseClientCredential } from "../protocol/form.ts";
import type { parseGrant } from "../protocol/grants.ts";

export type RuleVerdict = "passed" | "refused" | "not_reached" | "taken_for_granted";

/** How the core evaluates a token request, rule by rule. */
export interface Explanation {
  readonly rules: readonly {
    readonly rule: string;
    readonly demand: string;
    readonly source: string;
    readonly verdict: RuleVerdict;
    readonly error?: string | undefined;
    readonly reason?: string | undefined;
  }[];
  readonly granted?: {
    readonly sub?: string | undefined;
    readonly scope: string;
    readonly aud: readonly string[];
    /** Seconds. */
    readonly expiresIn: number;
    readonly issuedTokenType: string;
    readonly refreshToken: boolean;
    readonly idToken: boolean;
    /** Client ids of the delegation chain, the current actor first. */
    readonly actors: readonly string[];
  };
  /** Requested scopes that the client may not have, of an authorization request. */
  readonly droppedScope?: readonly string[];
  /** The client that the token of a platform stands for. */
  readonly clientId?: string | undefined;
  readonly refused?: {
    readonly clientId: string;
    readonly grantType: string;
    readonly error?: string | undefined;
    readonly reason: string;
    /** Seconds since the epoch, with their fraction. */
    readonly at: number;
  };
}

/** A token request; `proof` is its `DPoP` header. */
export interface ExplainedRequest {
  readonly client: ReturnType<typeof parseClientCredential>;
  readonly grant: ReturnType<typeof parseGrant>;
  readonly proof: string | undefined;
}

/** Evaluates requests without writing anything. */
export interface Explainer {
  /** A token request, evaluated now. */
  ofRequest(request: ExplainedRequest, signal?: AbortSignal): Promise<Explanation>;
  /** An authorization request, as if the user allowed it. */
  ofAuthorization(request: ReturnType<typeof parseAuthorizationRequest>, address: string, signal?: AbortSignal): Promise<Explanation>;
  /** The token of a platform. @param verifySignature whether the platform's keys may be fetched */
  ofWorkloadToken(token: string, verifySignature: boolean, signal?: AbortSignal): Promise<Explanation>;
  /** A refused request, by its id. @throws {Refusal} not_found when there is no record of it */
  ofRefusal(requestId: string, signal?: AbortSignal): Promise<Explanation>;
}
