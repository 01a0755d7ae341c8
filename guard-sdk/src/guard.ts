import { admissionOf, noteAdmission } from "./admissions.ts";
import { type HttpAnswer, toResponse } from "./answer.ts";
import { refusalAnswer } from "./challenge.ts";
import { type Inbound, readBearer } from "./credentials.ts";
import { locally } from "./local-verification.ts";
import { metadataSite, type ResourceMetadata } from "./metadata.ts";
import { assertKind, FUNCTION, having, needed } from "./option-table.ts";
import { type GuardOptions, settle } from "./options.ts";
import type { Principal } from "./principal.ts";
import { GuardRefusal } from "./refusal.ts";
import { type RouteOptions, scopesOf } from "./route.ts";
import { hasScopes, scopeList } from "./scopes.ts";

/** What the guard says to a request: come in, or this answer. */
export type Verdict =
  | { readonly admitted: true; readonly principal: Principal }
  | { readonly admitted: false; readonly answer: HttpAnswer };

/** A Fetch handler behind the guard. Its request carries no token. */
export type GuardedHandler = (request: Request, principal: Principal) => Response | Promise<Response>;

/** Stands before one protected resource. Made by createGuard. */
export interface Guard {
  readonly resource: string;
  /** What a request needs unless its route says otherwise. */
  readonly scopes: readonly string[];
  readonly metadata: ResourceMetadata;
  /** Where the metadata document is, as challenges say it. */
  readonly metadataUrl: string;
  /** Wraps a Fetch handler: serves the metadata document, refuses what must be refused, hands on the rest. */
  protect(handler: GuardedHandler, options?: RouteOptions): (request: Request) => Promise<Response>;
  /** The principal of a token's text, without a look at scopes. @throws {GuardRefusal} */
  verifyToken(token: string): Promise<Principal>;
  /**
   * Judges a request; what adapters are made of. `scopes` replaces the guard's own list.
   * @param requests objects that stand for this request and no other: by each of them the guard knows a request that it has let in, and
   * asks it for the scopes alone
   * @throws {Error} when another guard has let this request in
   */
  admit(inbound: Inbound, scopes?: readonly string[], requests?: readonly object[]): Promise<Verdict>;
  /** The metadata document when `pathname` is one of its addresses; what adapters are made of. */
  metadataAnswer(method: string, pathname: string): HttpAnswer | undefined;
  /** Ends what its verification keeps open to the authorization server, so that a process can end. Nothing with local verification. */
  close(): void;
}

/**
 * Makes the guard of a resource. Nothing is fetched before the first token arrives.
 * @throws {TypeError} when an option is wrong
 * @see docs/protocol.md#guard, RFC 6750, RFC 9728
 */
export function createGuard(options: GuardOptions): Guard {
  const settings = settle(options);
  const { resource, scopes: defaultScopes, onRefusal } = settings;
  const verifier = (settings.verification ?? locally)(settings);
  assertKind("what verification returns", verifier, needed(having("verify", "close")));
  const { verify, close } = verifier;
  const site = metadataSite({ ...settings, authorizationServers: settings.issuers });

  async function verifyToken(token: string): Promise<Principal> {
    try {
      return await verify(token);
    } catch (error) {
      if (error instanceof GuardRefusal) onRefusal?.(error);
      throw error;
    }
  }

  const self = {};

  async function admit(inbound: Inbound, wanted = defaultScopes, requests: readonly object[] = []): Promise<Verdict> {
    const before = admissionOf(requests);
    if (before !== undefined && before.by !== self) throw twoGuards(before.resource, resource);
    // The challenge names what was asked for before as well: a client that came back with the rest alone would get no further.
    const scopes = before === undefined ? wanted : scopeList([...before.scopes, ...wanted]);
    try {
      const principal = before?.principal ?? (await verify(readBearer(inbound)));
      if (!hasScopes(principal.scopes, wanted)) throw new GuardRefusal("insufficient_scope", "scope_missing");
      noteAdmission(requests, { by: self, resource, principal, scopes });
      return { admitted: true, principal };
    } catch (error) {
      if (!(error instanceof GuardRefusal)) throw error;
      onRefusal?.(error);
      return { admitted: false, answer: refusalAnswer(error.code, { scopes, metadataUrl: site.url }) };
    }
  }

  function protect(handler: GuardedHandler, route: RouteOptions = {}) {
    assertKind("the handler of protect", handler, needed(FUNCTION));
    const scopes = scopesOf(route, defaultScopes);
    return async (request: Request): Promise<Response> => {
      const document = site.answer(request.method, new URL(request.url).pathname);
      if (document !== undefined) return toResponse(document);
      const bare = withoutToken(request);
      const verdict = await admit(readInbound(request), scopes, [bare]);
      return verdict.admitted ? handler(bare, verdict.principal) : toResponse(verdict.answer);
    };
  }

  return Object.freeze({
    resource,
    scopes: defaultScopes,
    metadata: site.document,
    metadataUrl: site.url,
    protect,
    verifyToken,
    admit,
    metadataAnswer: site.answer,
    close,
  });
}

/** What of a Fetch request may carry credentials. Several fields come joined into one. */
export function readInbound(request: Request): Inbound {
  const authorization = request.headers.get("authorization");
  return { authorization: authorization === null ? [] : [authorization], query: new URL(request.url).search };
}

/** A copy, since the headers of a received request are read-only in some runtimes; what carries no credentials is itself. */
export function withoutToken(request: Request): Request {
  if (!request.headers.has("authorization")) return request;
  const headers = new Headers(request.headers);
  headers.delete("authorization");
  return new Request(request, { headers });
}

const twoGuards = (first: string, second: string) =>
  new Error(`two guards on one request: that of ${first} has let it in and taken its token, so that of ${second} cannot judge it`);
