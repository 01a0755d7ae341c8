import type { IncomingMessage, ServerResponse } from "node:http";
import { EXPOSED, type HttpAnswer, mergeExposed } from "./answer.ts";
import type { Guard } from "./guard.ts";
import type { Principal } from "./principal.ts";
import type { RouteDemand } from "./route.ts";

/** A request of node:http, as frameworks hand it on: a mounted one keeps its whole target in `originalUrl`. */
export type NodeRequest = IncomingMessage & { originalUrl?: string };

/** What an adapter does with a request: hand it on, or send this answer. */
export type NodeVerdict =
  | { readonly principal: Principal; readonly headers: Readonly<Record<string, string>> }
  | { readonly answer: HttpAnswer };

/**
 * Takes the credentials out of the request, before anything else can see them, and judges them.
 * @param whole its target as it was sent, for frameworks that keep it elsewhere
 */
export async function judge(
  guard: Guard,
  request: NodeRequest,
  { scopes, authentication }: RouteDemand,
  whole?: string,
): Promise<NodeVerdict> {
  const document = metadataAnswer(guard, request, whole);
  if (document !== undefined) return { answer: document };
  const { path, query } = target(request, whole);
  const { method = "GET", rawHeaders } = request;
  const authorization = takeAuthorization(request);
  const dpop = rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === "dpop");
  const inbound = { authorization, query, dpop, method, path };
  const verdict = await guard.admit(inbound, scopes, [request], authentication);
  return verdict.admitted ? verdict : { answer: verdict.answer };
}

/** The metadata document when the request asks for it. */
export function metadataAnswer(guard: Guard, request: NodeRequest, whole?: string): HttpAnswer | undefined {
  return guard.metadataAnswer(request.method ?? "GET", target(request, whole).path);
}

/** Sends an answer. A list of exposed headers that is already set, by a CORS middleware say, is added to. */
export function send(response: ServerResponse, answer: HttpAnswer): void {
  response.statusCode = answer.status;
  setHeaders(response, answer);
  response.end(answer.body);
}

/** Sets the headers of an answer, or of a verdict for the answer that follows. */
export function setHeaders(response: ServerResponse, given: Pick<HttpAnswer, "headers">): void {
  for (const [name, value] of Object.entries(mergeExposed(given, response.getHeader(EXPOSED)))) response.setHeader(name, value);
}

/** Scheme and host of a target in absolute form, which servers must accept (RFC 9112 §3.2.2). */
const AUTHORITY = /^https?:\/\/[^/?]*/i;

function target({ originalUrl, url = "/" }: NodeRequest, whole = url): { path: string; query: string } {
  const sent = (originalUrl ?? whole).replace(AUTHORITY, "");
  const mark = sent.indexOf("?");
  return mark < 0 ? { path: sent, query: "" } : { path: sent.slice(0, mark), query: sent.slice(mark) };
}

/**
 * All Authorization fields, taken away in every form in which Node shows headers. They are read from the raw list, since
 * `headers` keeps only the first of several. The other two forms are made from that list when they are first looked at,
 * by its length at arrival: so they are looked at before it gets shorter.
 */
export function takeAuthorization(request: IncomingMessage): readonly string[] {
  const { headers, rawHeaders } = request;
  const distinct: NodeJS.Dict<string[]> | undefined = request.headersDistinct; // a request of HTTP/2 has none
  delete headers.authorization;
  delete distinct?.authorization;
  const found: string[] = [];
  for (let at = rawHeaders.length - 2; at >= 0; at -= 2) {
    if (rawHeaders[at]?.toLowerCase() === "authorization") found.push(...rawHeaders.splice(at, 2).slice(1));
  }
  return found;
}
