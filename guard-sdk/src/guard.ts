import { admissionOf, noteAdmission } from "./admissions.ts";
import { EXPOSED, type HttpAnswer, mergeExposed, toResponse } from "./answer.ts";
import { type AuthenticationDemand, assertAuthenticated, bothDemands } from "./authentication.ts";
import { nonceHeaders, refusalAnswer } from "./challenge.ts";
import { type Inbound, schemesFor } from "./credentials.ts";
import { locally } from "./local-verification.ts";
import { metadataSite, type ResourceMetadata } from "./metadata.ts";
import { assertKind, FUNCTION, having, needed } from "./option-table.ts";
import { type GuardOptions, settle } from "./options.ts";
import { type Presented, presentation } from "./presentation.ts";
import type { Principal } from "./principal.ts";
import { GuardRefusal } from "./refusal.ts";
import { demandOf, type RouteOptions } from "./route.ts";
import { hasScopes, scopeList } from "./scopes.ts";
import type { Verifier } from "./verification.ts";
import { warn } from "./warning.ts";

/** What the guard says to a request: come in, or this answer. */
export type Verdict =
  | {
      readonly admitted: true;
      readonly principal: Principal;
      /** Headers for the response to the request, whatever it is. */
      readonly headers: Readonly<Record<string, string>>;
    }
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
  /** The principal of a token's text, without a look at scopes. A bound token is refused: its proof is elsewhere. @throws {GuardRefusal} */
  verifyToken(token: string): Promise<Principal>;
  /** The principal of a request, which proves the key of a bound token, without a look at scopes. @throws {GuardRefusal} */
  verifyRequest(request: Request): Promise<Principal>;
  /**
   * Judges a request; what adapters are made of. `scopes` replaces the guard's own list.
   * @param requests objects that stand for this request and no other: by each of them the guard knows a request that it has let in, and
   * asks it for the scopes and the sign-in alone
   * @param authentication how the user must have signed in
   * @throws {Error} when another guard has let this request in
   */
  admit(
    inbound: Inbound,
    scopes?: readonly string[],
    requests?: readonly object[],
    authentication?: AuthenticationDemand,
  ): Promise<Verdict>;
  /** The metadata document when `pathname` is one of its addresses; what adapters are made of. */
  metadataAnswer(method: string, pathname: string): HttpAnswer | undefined;
  /** Ends what its verification keeps open to the authorization server, so that a process can end. Every token is refused from then on. */
  close(): void;
}

/**
 * Makes the guard of a resource. Nothing is fetched before the first token arrives.
 * @throws {TypeError} when an option is wrong
 * @see docs/protocol.md#guard, RFC 6750, RFC 9728
 */
export function createGuard(options: GuardOptions): Guard {
  const settings = settle(options);
  const { resource, scopes: defaultScopes, onRefusal, dpop } = settings;
  const verifier = (settings.verification ?? locally)(settings);
  assertKind("what verification returns", verifier, needed(having("verify", "close")));
  const { verify, close } = untilClosed(verifier);
  const presented = presentation(settings, verify);
  const site = metadataSite({ ...settings, authorizationServers: settings.issuers });

  const report = reporter(onRefusal);
  const reporting = refusalsReported(report);

  const self = {};

  async function admit(
    inbound: Inbound,
    wanted = defaultScopes,
    requests: readonly object[] = [],
    demand?: AuthenticationDemand,
  ): Promise<Verdict> {
    const before = admissionOf(requests);
    if (before !== undefined && before.by !== self) throw twoGuards(before.resource, resource);
    // The challenge names what was asked for before as well: a client that came back with the rest alone would get no further.
    const scopes = before === undefined ? wanted : scopeList([...before.scopes, ...wanted]);
    const authentication = bothDemands(before?.authentication, demand);
    try {
      const found: Presented = before ?? (await presented.ofRequest(inbound));
      const { principal, dpopNonce } = found;
      if (!hasScopes(principal.scopes, wanted)) throw new GuardRefusal("insufficient_scope", "scope_missing");
      if (demand !== undefined) assertAuthenticated(principal, demand, settings.clocks.now());
      noteAdmission(requests, { by: self, resource, principal, scopes, authentication });
      return { admitted: true, principal, headers: nonceHeaders(dpopNonce) };
    } catch (error) {
      if (!(error instanceof GuardRefusal)) throw error;
      void report(error);
      return {
        admitted: false,
        answer: refusalAnswer(error, { scopes, authentication, schemes: schemesFor(inbound, dpop), metadataUrl: site.url }),
      };
    }
  }

  function protect(handler: GuardedHandler, route: RouteOptions = {}) {
    assertKind("the handler of protect", handler, needed(FUNCTION));
    const { scopes, authentication } = demandOf(route, defaultScopes);
    return async (request: Request): Promise<Response> => {
      const document = site.answer(request.method, new URL(request.url).pathname);
      if (document !== undefined) return toResponse(document);
      const bare = withoutToken(request);
      const verdict = await admit(readInbound(request), scopes, [bare], authentication);
      return verdict.admitted ? withHeaders(await handler(bare, verdict.principal), verdict.headers) : toResponse(verdict.answer);
    };
  }

  return Object.freeze({
    resource,
    scopes: defaultScopes,
    metadata: site.document,
    metadataUrl: site.url,
    protect,
    verifyToken: (token: string) => reporting(presented.ofBearer(token)),
    verifyRequest: (request: Request) => reporting(presented.ofRequest(readInbound(request)).then(({ principal }) => principal)),
    admit,
    metadataAnswer: site.answer,
    close,
  });
}

/** A verification that refuses every token once it is closed, also those that it remembers. */
function untilClosed({ verify, close }: Verifier): Verifier {
  let closed = false;
  return {
    async verify(token) {
      if (closed) throw new GuardRefusal("temporarily_unavailable", "guard_closed");
      return verify(token);
    },
    close() {
      closed = true;
      close();
    },
  };
}

type Report = (refusal: GuardRefusal) => Promise<void>;

/** An error of `onRefusal` changes no answer. */
const reporter =
  (onRefusal: GuardOptions["onRefusal"]): Report =>
  async (refusal) => {
    try {
      await onRefusal?.(refusal);
    } catch (error) {
      warn(error);
    }
  };

/** Reports the refusals of verifications that answer with a principal alone. */
const refusalsReported = (report: Report) => (work: Promise<Principal>) =>
  work.catch((error: unknown) => {
    if (error instanceof GuardRefusal) void report(error);
    throw error;
  });

/** The response of a handler with further headers; a copy, since those of a fetched response are read-only. */
function withHeaders(response: Response, headers: Readonly<Record<string, string>>): Response {
  if (Object.keys(headers).length === 0) return response;
  const copy = new Response(response.body, response);
  for (const [name, value] of Object.entries(mergeExposed({ headers }, response.headers.get(EXPOSED) ?? undefined)))
    copy.headers.set(name, value);
  return copy;
}

/** What of a Fetch request may carry credentials. Several fields come joined into one. */
export function readInbound(request: Request): Inbound {
  const authorization = request.headers.get("authorization");
  const dpop = request.headers.get("dpop");
  const { pathname: path, search: query } = new URL(request.url);
  return { authorization: listed(authorization), query, dpop: listed(dpop), method: request.method, path };
}

const listed = (field: string | null): readonly string[] => (field === null ? [] : [field]);

/** A copy, since the headers of a received request are read-only in some runtimes; what carries no credentials is itself. */
export function withoutToken(request: Request): Request {
  if (!request.headers.has("authorization")) return request;
  const headers = new Headers(request.headers);
  headers.delete("authorization");
  if (!request.bodyUsed) return new Request(request, { headers });
  const copy = new Request(request, { headers, body: "" });
  void copy.text(); // a body that was read is none that is empty
  return copy;
}

const twoGuards = (first: string, second: string) =>
  new Error(`two guards on one request: that of ${first} has let it in and taken its token, so that of ${second} cannot judge it`);
