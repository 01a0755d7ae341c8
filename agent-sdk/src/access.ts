import { parseChallenges } from "./challenge.ts";
import type { Directory } from "./directory.ts";
import { AgentError } from "./errors.ts";
import { addressOf, type Fetch } from "./http.ts";
import type { IssuerMetadata } from "./issuer.ts";
import { nextStep, type Step, widened } from "./next-step.ts";
import { discard, type Outgoing, outgoing, withSignal } from "./outgoing.ts";
import type { Prover } from "./proof.ts";
import { type Demand, demandOf, type Resource } from "./resource.ts";
import type { TokenSource } from "./sources.ts";
import { type AccessToken, cacheKey, type TokenCache } from "./token-cache.ts";
import { covers, isTrustworthy, resourceMetadataUrl } from "./urls.ts";

/** Whether tokens are bound to the agent's key: wherever both servers support it, always, or never. */
export type DpopUse = "preferred" | "required" | "off";

export interface Target {
  /** The resource that tokens are for. Without it, the resource server that is called says so. */
  readonly resource?: string | undefined;
  /**
   * The scopes of tokens, separated by spaces. Without it, the resource server says what each request needs; for a user's token for a named
   * resource, the authorization server chooses.
   */
  readonly scope?: string | undefined;
}

/** Requests in one name. */
export interface Access {
  /**
   * As the global `fetch`, with a token and a proof that the server accepts. No redirect is followed.
   * @throws {AgentError} when no token can be had for it; other responses of the resource server are returned as they are
   */
  fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>;
  /** The token itself, for clients that send it by themselves. @throws {AgentError} */
  token(): Promise<AccessToken>;
}

export interface AccessPorts {
  readonly fetch: Fetch;
  readonly dpop: DpopUse;
  readonly metadata: () => Promise<IssuerMetadata>;
  readonly prover: Prover;
  readonly cache: TokenCache;
  readonly directory: Directory;
}

export interface BindingFacts {
  readonly dpop: DpopUse;
  readonly issuerTakesProofs: boolean;
  readonly resourceTakesProofs: boolean;
  /** Whether the request begins with a bound token, which leads to bound tokens alone. */
  readonly isSubjectBound: boolean;
}

/** Whether a token is requested with a proof. @throws {AgentError} dpop_unavailable */
export function bindsToken({ dpop, issuerTakesProofs, resourceTakesProofs, isSubjectBound }: BindingFacts): boolean {
  if (dpop === "required" && !issuerTakesProofs)
    throw new AgentError("dpop_unavailable", "the authorization server does not bind tokens to a key");
  return dpop === "required" || (dpop === "preferred" && issuerTakesProofs && (resourceTakesProofs || isSubjectBound));
}

interface HeldToken {
  readonly key: string;
  readonly token: AccessToken;
}

/** Finds the resource of a request, as far as it is known before the request is sent. */
function resourceFinder(target: Target, dpop: DpopUse, directory: Directory) {
  const named = async (): Promise<Resource | undefined> => {
    if (target.resource === undefined) return undefined;
    if (dpop === "preferred") return directory.named(target.resource);
    return { identifier: target.resource, scope: undefined, takesProofs: dpop === "required" };
  };

  async function of({ url, isReplayable }: Outgoing): Promise<Resource | undefined> {
    if (!isTrustworthy(url))
      throw new AgentError("wrong_resource", `${addressOf(url)} is not https, or has user info, so no token is sent to it`);
    if (target.resource !== undefined) {
      if (URL.canParse(target.resource) && covers(target.resource, url)) return named();
      throw new AgentError("wrong_resource", `${addressOf(url)} is not within ${addressOf(target.resource)}`);
    }
    const known = directory.around(url);
    if (known !== undefined || isReplayable) return known;
    return directory.learn(url, undefined).catch((error: unknown) => {
      if (error instanceof AgentError && error.code === "resource_unknown") return undefined; // it may need no token
      throw error;
    });
  }

  /** The resource that refused a token: another one, within the known one, if its challenge names another document. */
  async function refusing({ url }: Outgoing, known: Resource, demand: Demand | undefined): Promise<Resource> {
    const isOther = demand?.metadataUrl !== undefined && demand.metadataUrl !== resourceMetadataUrl(known.identifier);
    return isOther && target.resource === undefined ? directory.learn(url, demand) : known;
  }

  return { named, of, refusing };
}

/** What the requests of one access have learned that resources need. */
function learnedNeeds(target: Target) {
  /** Of a named resource what its first challenge asked for, and of any what requests needed beyond that. */
  const scopes = new Map<string, string | undefined>();
  /** Resources that asked for proofs. */
  const proven = new Set<string>();
  const scopeOf = (resource: Resource | undefined) => target.scope ?? scopes.get(resource?.identifier ?? "") ?? resource?.scope;
  return { scopes, proven, scopeOf };
}

/** Tokens of one source, by what resources need. */
function tokenHolder(
  source: TokenSource,
  { scopes, proven, scopeOf }: ReturnType<typeof learnedNeeds>,
  { dpop, metadata, cache, directory }: AccessPorts,
) {
  return async function held(resource: Resource | undefined, scope = scopeOf(resource)): Promise<HeldToken> {
    const { takesProofs: issuerTakesProofs } = await metadata();
    const resourceTakesProofs = resource !== undefined && (resource.takesProofs || proven.has(resource.identifier));
    const isBound = bindsToken({ dpop, issuerTakesProofs, resourceTakesProofs, isSubjectBound: source.isBound });
    const use = { resource: resource?.identifier, scope, isBound };
    const key = cacheKey({ ...use, resource: source.resources?.join(" ") ?? use.resource, party: await source.party });
    const token = await cache
      .obtain(key, () => source.request(use))
      .catch((error: unknown) => {
        if (resource !== undefined && error instanceof AgentError && error.code === "invalid_scope") {
          // What one request needs was refused, or is no longer granted. Another may need less, and learns that by its own challenge.
          scopes.delete(resource.identifier);
          directory.forget(resource);
        }
        throw error;
      });
    if (dpop === "required" && token.scheme !== "DPoP")
      throw new AgentError("dpop_unavailable", "the authorization server issued a token that is not bound to the agent's key");
    return { key, token };
  };
}

/** Requests with the tokens of one source. */
export function access(source: TokenSource, target: Target, ports: AccessPorts): Access {
  const { fetch, dpop, prover, cache, directory } = ports;
  const finder = resourceFinder(target, dpop, directory);
  const needs = learnedNeeds(target);
  const { scopes, proven, scopeOf } = needs;
  const held = tokenHolder(source, needs, ports);

  const lacksScope = (resource: Resource): boolean =>
    source.needsScope === true && scopeOf(resource) === undefined && !scopes.has(resource.identifier);

  /** Sends a request without a token where nothing says yet what it needs. @returns the resource of its challenge, or the response without one */
  async function introduced(request: Outgoing): Promise<{ readonly resource: Resource } | { readonly response: Response }> {
    const { isReplayable, signal } = request;
    const resource = await withSignal(finder.of(request), signal);
    if (resource !== undefined && !(isReplayable && lacksScope(resource))) return { resource };
    const { response, challenges } = await transmit(prover, request);
    const demand = response.status === 401 ? demandOf(challenges) : undefined;
    if (demand === undefined || !isReplayable) return { response };
    await discard(response);
    if (resource === undefined) return { resource: await withSignal(directory.learn(request.url, demand), signal) };
    scopes.set(resource.identifier, demand.scope);
    if (demand.takesProofs) proven.add(resource.identifier);
    return { resource };
  }

  async function send(input: string | URL | Request, init?: RequestInit): Promise<Response> {
    const request = outgoing(fetch, input, init);
    const { isReplayable, signal } = request;
    const first = await introduced(request);
    if ("response" in first) return first.response;
    let { resource } = first;
    let scope = scopeOf(resource);
    for (const tried = new Set<Step>(); ; ) {
      const { key, token } = await withSignal(held(resource, scope), signal);
      // Not before there is a token: scopes that are refused would be asked for by every later request.
      if (scope !== undefined && scope !== scopeOf(resource)) scopes.set(resource.identifier, scope);
      const { response, hasNonce, challenges } = await transmit(prover, request, token);
      const facts = { status: response.status, challenges, hasNonce, isReplayable, scope, isScopeFixed: target.scope !== undefined, tried };
      const step = nextStep(facts);
      if (step === undefined) return response;
      tried.add(step);
      await discard(response);
      if (step === "widen") scope = widened(scope, challenges);
      if (step !== "renew") continue;
      const demand = demandOf(challenges);
      const refusing: Resource = await withSignal(finder.refusing(request, resource, demand), signal);
      if (refusing.identifier === resource.identifier) {
        cache.drop(key, token);
        if (demand?.takesProofs) proven.add(resource.identifier);
        continue;
      }
      resource = refusing;
      scope = scopeOf(refusing);
    }
  }

  return { fetch: send, token: async () => (await held(await finder.named())).token };
}

/** Sends a request, with a token and its proof if there is one. */
async function transmit(prover: Prover, request: Outgoing, token?: AccessToken) {
  const { url, method } = request;
  const party = new URL(url).origin;
  const proof = token?.scheme === "DPoP" && { dpop: await prover.prove({ method, url, token: token.value, party }) };
  const response = await request.send(token === undefined ? {} : { authorization: `${token.scheme} ${token.value}`, ...proof });
  const challenges = parseChallenges(response.headers.get("www-authenticate"));
  const known = challenges.filter(({ scheme }) => scheme === "bearer" || scheme === "dpop");
  return { response, hasNonce: prover.noted(party, response.headers), challenges: known };
}
