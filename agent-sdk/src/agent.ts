import { type Access, access, bindsToken, type DpopUse, type Target } from "./access.ts";
import { type Credential, type WorkloadTokenSource, workloadToken } from "./credentials.ts";
import { directory } from "./directory.ts";
import type { Fetch } from "./http.ts";
import { issuerMetadata } from "./issuer.ts";
import { nowInSeconds } from "./jws.ts";
import { prover } from "./proof.ts";
import { type SignInRequest, startSignIn } from "./sign-in.ts";
import {
  type AssertionRequest,
  type AssertionSource,
  assertedSource,
  delegatedSource,
  identityAssertion,
  ownSource,
  type SubjectTokenType,
} from "./sources.ts";
import { tokenCache } from "./token-cache.ts";
import { tokenEndpoint } from "./token-endpoint.ts";
import { isTrustworthy } from "./urls.ts";

export interface AgentOptions {
  /** The authorization server, as its metadata spells it; https, or http on loopback. No other server ever gets a credential. */
  readonly issuer: string;
  readonly clientId: string;
  /** How the agent proves which client it is. A function is one that returns a token of the platform, as for {@link workloadToken}. */
  readonly credential: Credential | WorkloadTokenSource;
  /** Default: `preferred`. */
  readonly dpop?: DpopUse;
  /** The key pair of all proofs, ECDSA on P-256. By default one that cannot be exported and ends with the process. */
  readonly proofKey?: CryptoKeyPair;
  /** Default: the global `fetch`. */
  readonly fetch?: Fetch;
}

/** A page for the user's browser, and what follows it. */
export interface SignIn {
  readonly url: string;
  /**
   * The same access each time that the browser loads the callback.
   * @param callback the URL to which the browser was sent, whole or as the target of the request
   * @throws {AgentError}
   */
  finish(callback: string | URL): Promise<Access>;
}

/** An agent at one authorization server. Keep one for the whole process: it holds the tokens, the nonces and the key. */
export interface Agent extends Access {
  /** Requests in the agent's own name. `fetch` of the agent itself is `own().fetch`. */
  own(target?: Target): Access;
  /** Requests in the name of the user whose token the agent was handed (RFC 8693). */
  onBehalfOf(token: string, target?: Target & { readonly tokenType?: SubjectTokenType }): Access;
  /** An identity assertion (ID-JAG) for the user at another authorization server. */
  assertionFor(issuer: string, request: AssertionRequest): Promise<string>;
  /** Requests in the name of a user whom another authorization server vouches for, by the assertions that `source` returns. */
  withAssertion(source: AssertionSource, target?: Target): Access;
  /** Signs the user of the agent in, by their browser (authorization code with PKCE), and renews the access while it lasts. */
  signIn(request: SignInRequest): Promise<SignIn>;
}

const OPTIONS = ["issuer", "clientId", "credential", "dpop", "proofKey", "fetch"];

/** An agent. Nothing is sent before the first request. @throws {TypeError} for an option that is missing, unknown or unusable */
export function agent(options: AgentOptions): Agent {
  assertOptions(options);
  const { issuer, clientId, dpop = "preferred" } = options;
  const fetch: Fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
  const credential = typeof options.credential === "function" ? workloadToken(options.credential) : options.credential;
  const metadata = issuerMetadata(issuer, fetch);
  const proofs = prover(options.proofKey);
  const requestToken = tokenEndpoint({ issuer, clientId, credential, fetch, metadata, prover: proofs });
  const ports = { fetch, dpop, metadata, prover: proofs, cache: tokenCache(nowInSeconds), directory: directory(issuer, fetch) };
  let assertions = 0;

  const own = (target: Target = {}): Access =>
    access(ownSource(requestToken, credential, { issuer, clientId, methods: [] }), target, ports);
  return {
    ...own(),
    own,
    onBehalfOf: (token, { tokenType = "access_token", ...target } = {}) =>
      access(delegatedSource(requestToken, clientId, token, tokenType), target, ports),
    assertionFor: (other, request) => identityAssertion(requestToken, other, request),
    withAssertion(source, target = {}) {
      assertions += 1;
      return access(assertedSource(requestToken, source, `assertion ${assertions}`), target, ports);
    },
    async signIn(request) {
      const { authorizationEndpoint, takesProofs, namesItself } = await metadata();
      const { takesProofs: resourceTakesProofs } = await ports.directory.named(request.resource);
      const isBound = bindsToken({ dpop, issuerTakesProofs: takesProofs, resourceTakesProofs, isSubjectBound: false });
      const thumbprint = isBound ? await proofs.thumbprint() : undefined;
      const started = await startSignIn(request, { issuer, clientId, authorizationEndpoint, namesItself, thumbprint, requestToken });
      const { resource, scope } = request;
      return { url: started.url, finish: async (callback) => access(await started.redeemed(callback), { resource, scope }, ports) };
    },
  };
}

function assertOptions(options: AgentOptions): void {
  const unknown = Object.keys(options).find((name) => !OPTIONS.includes(name));
  if (unknown !== undefined) throw new TypeError(`agent has no option ${JSON.stringify(unknown)}; it takes ${OPTIONS.join(", ")}`);
  const { issuer, clientId, credential, dpop = "preferred" } = options;
  if (typeof issuer !== "string" || !isTrustworthy(issuer))
    throw new TypeError("issuer of agent must be a URL that is https (http only on loopback)");
  if (typeof clientId !== "string" || clientId === "") throw new TypeError("clientId of agent must be a string that is not empty");
  if (typeof credential !== "function" && typeof credential?.authenticate !== "function")
    throw new TypeError("credential of agent must be clientSecret(…), privateKey(…), publicClient(), or a function that returns a token");
  if (!["preferred", "required", "off"].includes(dpop)) throw new TypeError('dpop of agent must be "preferred", "required" or "off"');
}
