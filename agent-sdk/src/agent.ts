import { type Access, access, bindsToken, type DpopUse, type Target } from "./access.ts";
import { type Credential, type WorkloadTokenSource, workloadToken } from "./credentials.ts";
import { directory } from "./directory.ts";
import type { Fetch } from "./http.ts";
import { issuerMetadata } from "./issuer.ts";
import { type KeyPair, nowInSeconds } from "./jws.ts";
import { assertNames, assertRequest, assertText } from "./options.ts";
import { isProofKey, prover } from "./proof.ts";
import { accessToSeveral } from "./several.ts";
import { type SignInRequest, startSignIn } from "./sign-in.ts";
import {
  type AssertionRequest,
  type AssertionSource,
  assertedSource,
  delegatedSource,
  identityAssertion,
  isBoundToken,
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
  readonly proofKey?: KeyPair;
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
  /**
   * Requests in the name of the user whose token the agent was handed (RFC 8693).
   * @param target several resources get one token for all of them
   */
  onBehalfOf(
    token: string,
    target?: Omit<Target, "resource"> & {
      readonly resource?: string | readonly [string, ...string[]] | undefined;
      readonly tokenType?: SubjectTokenType;
    },
  ): Access;
  /** An identity assertion (ID-JAG) for the user at another authorization server. */
  assertionFor(issuer: string, request: AssertionRequest): Promise<string>;
  /** Requests in the name of a user whom another authorization server vouches for, by the assertions that `source` returns. */
  withAssertion(source: AssertionSource, target?: Target): Access;
  /** Signs the user of the agent in, by their browser (authorization code with PKCE), and renews the access while it lasts. */
  signIn(request: SignInRequest): Promise<SignIn>;
}

const OPTIONS = ["issuer", "clientId", "credential", "dpop", "proofKey", "fetch"];
/** What each kind of access takes, and whether it is needed. */
const TARGET = { resource: false, scope: false };
const DELEGATION = { ...TARGET, tokenType: false };
const ASSERTION = { ...DELEGATION, token: true, resource: true };
const SIGN_IN = { ...TARGET, resource: true, redirectUri: true };

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

  function own(target: Target = {}): Access {
    assertRequest("own", target, TARGET);
    return access(ownSource(requestToken, credential, { issuer, clientId, methods: [] }), target, ports);
  }
  return {
    ...own(),
    own,
    onBehalfOf(token, options = {}) {
      assertText("the token of onBehalfOf", token);
      assertRequest("onBehalfOf", options, DELEGATION, ["resource"]);
      const { tokenType = "access_token", resource, scope } = options;
      const to = (one: string | undefined, all?: readonly string[]) =>
        access(delegatedSource(requestToken, clientId, { token, type: tokenType, resources: all }), { resource: one, scope }, ports);
      if (typeof resource !== "object") return to(resource);
      const all: typeof resource = [...resource];
      return accessToSeveral(all, (one) => to(one, all));
    },
    async assertionFor(other, request) {
      assertText("the issuer of assertionFor", other);
      assertRequest("assertionFor", request, ASSERTION);
      const { takesProofs: issuerTakesProofs } = await metadata();
      const isSubjectBound = isBoundToken(request.token);
      const isBound = bindsToken({ dpop, issuerTakesProofs, resourceTakesProofs: false, isSubjectBound });
      return identityAssertion(requestToken, other, { ...request, isBound });
    },
    withAssertion(source, target = {}) {
      if (typeof source !== "function") throw new TypeError("the source of withAssertion must be a function");
      assertRequest("withAssertion", target, TARGET);
      assertions += 1;
      return access(
        assertedSource(requestToken, source, { party: `assertion ${assertions}`, thumbprint: proofs.thumbprint }),
        target,
        ports,
      );
    },
    async signIn(request) {
      assertRequest("signIn", request, SIGN_IN);
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
  assertNames("agent", options, OPTIONS);
  const { issuer, clientId, credential, dpop = "preferred", proofKey, fetch } = options;
  if (typeof issuer !== "string" || !isTrustworthy(issuer))
    throw new TypeError("issuer of agent must be a URL that is https (http only on loopback)");
  assertText("clientId of agent", clientId);
  if (typeof credential !== "function" && typeof credential?.authenticate !== "function")
    throw new TypeError("credential of agent must be clientSecret(…), privateKey(…), publicClient(), or a function that returns a token");
  if (!["preferred", "required", "off"].includes(dpop)) throw new TypeError('dpop of agent must be "preferred", "required" or "off"');
  if (proofKey !== undefined && !isProofKey(proofKey))
    throw new TypeError("proofKey of agent must be a key pair for ECDSA on P-256, its public key extractable");
  if (fetch !== undefined && typeof fetch !== "function") throw new TypeError("fetch of agent must be a function");
}
