import type { AuthenticationRequest, Credential } from "./credentials.ts";
import { AgentError } from "./errors.ts";
import { claimsIn, sha256 } from "./jws.ts";
import type { SUBJECT_TOKEN_TYPES } from "./options.ts";
import type { AccessToken, TokenUse } from "./token-cache.ts";
import { accessTokenOf, type GrantParameters, type RequestToken } from "./token-endpoint.ts";

const TOKEN_TYPES = "urn:ietf:params:oauth:token-type";
const TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/** In whose name tokens are requested, and how. */
export interface TokenSource {
  /** What keeps its tokens apart from those of other sources. */
  readonly party: Promise<string>;
  /** Whether it begins with a token that is bound to a key, so that what it leads to must be bound too. */
  readonly isBound: boolean;
  /** Whether its tokens have a scope only if the request names one: no user has consented to any. */
  readonly needsScope?: boolean;
  /** All resources of its tokens, where they are more than the one of a request. */
  readonly resources?: readonly string[] | undefined;
  request(use: Omit<TokenUse, "party">): Promise<AccessToken>;
}

export type SubjectTokenType = (typeof SUBJECT_TOKEN_TYPES)[number];

/** The key that a token is bound to, if it is (RFC 7800). It is looked at alone; the server is who judges it. */
function keyOf(token: string): { readonly jkt?: unknown } | undefined {
  const cnf = claimsIn(token)?.cnf;
  return typeof cnf === "object" && cnf !== null ? cnf : undefined;
}

export const isBoundToken = (token: string): boolean => keyOf(token) !== undefined;

/** The agent itself, without a user. */
export function ownSource(requestToken: RequestToken, credential: Credential, facts: AuthenticationRequest): TokenSource {
  return {
    party: Promise.resolve("own"),
    isBound: false,
    needsScope: true,
    async request({ resource, scope, isBound }) {
      const grant = (await credential.grant?.(facts)) ?? { grant_type: "client_credentials" };
      const isAnonymous = credential.grant !== undefined;
      const response = await requestToken({ grant: { ...grant, resource, scope }, isBound, isAnonymous }).catch((cause: unknown) => {
        // A request that can be sent only once gets its token before any challenge.
        const isUnstated = scope === undefined && cause instanceof AgentError && cause.code === "invalid_scope";
        throw isUnstated ? withHint(cause, "no answer has named the scopes yet: state scope in own()") : cause;
      });
      return accessTokenOf(response, scope);
    },
  };
}

interface HandedToken {
  readonly token: string;
  readonly type: SubjectTokenType;
  /** Undefined: the resource of each request. */
  readonly resources: readonly string[] | undefined;
}

/** The user whose token the agent was handed. @see RFC 8693 §2.1 */
export function delegatedSource(requestToken: RequestToken, clientId: string, { token, type, resources }: HandedToken): TokenSource {
  return {
    resources,
    party: sha256(token).then((digest) => `user ${digest}`),
    isBound: isBoundToken(token),
    async request({ resource, scope, isBound }) {
      const grant = { ...subjectOf(token, type), resource: resources ?? resource, scope };
      const response = await requestToken({ grant, isBound }).catch((cause: unknown) => {
        throw explained(cause, { token, clientId, resource });
      });
      return accessTokenOf(response, scope);
    },
  };
}

const subjectOf = (token: string, type: SubjectTokenType): GrantParameters => ({
  grant_type: TOKEN_EXCHANGE,
  subject_token: token,
  subject_token_type: `${TOKEN_TYPES}:${type}`,
});

/** Adds to a refusal what the agent can see: that the token was meant for others. */
function explained(
  cause: unknown,
  { token, clientId, resource = "the resource" }: { token: string; clientId: string; resource?: string | undefined },
): unknown {
  if (!(cause instanceof AgentError) || cause.code !== "invalid_request") return cause;
  const audience = claimsIn(token)?.aud;
  if (audience === undefined || [audience].flat().includes(clientId)) return cause;
  const hint = `its aud does not name ${clientId}. Ask for it with two resource parameters, ${resource} and ${clientId}`;
  return withHint(cause, `the token was not handed to this agent: ${hint}`);
}

const withHint = (cause: AgentError, hint: string): AgentError => {
  const { code, message, status, description, retryAfter } = cause;
  return new AgentError(code, `${message}; ${hint}`, { cause, description, retryAfter, ...(status !== undefined && { status }) });
};

export interface AssertionRequest {
  /** The user's token: of this issuer. */
  readonly token: string;
  /** Default: `access_token`. */
  readonly tokenType?: SubjectTokenType;
  /** The resource at the other server for which the assertion is to get a token. */
  readonly resource: string;
  readonly scope?: string;
}

/**
 * An identity assertion for the user at another authorization server.
 * @throws {AgentError} as the server answered; invalid_response when it issues something else
 * @see Identity Assertion Authorization Grant §4.3
 */
export async function identityAssertion(
  requestToken: RequestToken,
  issuer: string,
  { token, tokenType = "access_token", resource, scope, isBound }: AssertionRequest & { readonly isBound: boolean },
): Promise<string> {
  const type = `${TOKEN_TYPES}:id-jag`;
  const grant = { ...subjectOf(token, tokenType), requested_token_type: type, audience: issuer, resource, scope };
  const response = await requestToken({ grant, isBound });
  if (response.issued_token_type !== type)
    throw new AgentError("invalid_response", "the authorization server issued no identity assertion");
  return response.access_token;
}

/** Returns an identity assertion for one token request; it works once. */
export type AssertionSource = (request: { readonly resource: string | undefined; readonly scope: string | undefined }) => Promise<string>;

/** A user whom another authorization server vouches for. @param thumbprint of the agent's key @see RFC 7523 §2.1 */
export function assertedSource(
  requestToken: RequestToken,
  source: AssertionSource,
  { party, thumbprint }: { readonly party: string; readonly thumbprint: () => Promise<string> },
): TokenSource {
  return {
    party: Promise.resolve(party),
    isBound: false,
    async request({ resource, scope, isBound }) {
      const assertion = await source({ resource, scope });
      const grant = { grant_type: JWT_BEARER, assertion, resource, scope };
      const key = keyOf(assertion);
      const response = await requestToken({ grant, isBound: isBound || key !== undefined }).catch(async (cause: unknown) => {
        if (!(cause instanceof AgentError) || cause.code !== "invalid_grant" || key === undefined || key.jkt === (await thumbprint()))
          throw cause;
        throw withHint(cause, "the assertion is bound to another key than this agent's: give both agents the same proofKey");
      });
      return accessTokenOf(response, scope);
    },
  };
}
