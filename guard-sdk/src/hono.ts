import type { IncomingMessage } from "node:http";
import { principalOfRequest } from "./admissions.ts";
import { EXPOSED, type HttpAnswer, mergeExposed, toResponse } from "./answer.ts";
import { assertGuard, demandOfRoute } from "./given-guard.ts";
import { type Guard, readInbound, withoutToken } from "./guard.ts";
import { takeAuthorization } from "./node-request.ts";
import type { Principal } from "./principal.ts";
import type { RouteOptions } from "./route.ts";

/** What the guard uses of a Hono context. */
export interface Context {
  readonly req: { raw: Request };
  readonly res: Response;
  readonly env: unknown;
  header(name: string, value: string): void;
}

/** A middleware of Hono. */
export type Middleware = (context: Context, next: () => Promise<void>) => Promise<Response | undefined>;

/** Serves the metadata document at its addresses: `app.use(metadata(guard))`, at the root of the application. */
export function metadata(guard: Guard): Middleware {
  assertGuard("metadata", guard);
  return async (context, next) => {
    const answer = documentOf(guard, context.req.raw);
    return answer === undefined ? void (await next()) : give(context, answer);
  };
}

/** Lets in only requests with a good token; takes the token off them. Use principalOf in what follows. */
export function protect(guard: Guard, route: RouteOptions = {}): Middleware {
  const { scopes, authentication } = demandOfRoute(guard, route);
  return async (context, next) => {
    const { raw } = context.req;
    const document = documentOf(guard, raw);
    if (document !== undefined) return give(context, document);
    const inbound = readInbound(raw);
    const bare = withoutToken(raw);
    context.req.raw = bare;
    const incoming = incomingOf(context.env);
    if (incoming !== undefined) takeAuthorization(incoming);
    // By the context too, since middleware may put another request in the place of this one.
    const verdict = await guard.admit(inbound, scopes, [bare, context, ...(incoming === undefined ? [] : [incoming])], authentication);
    if (!verdict.admitted) return give(context, verdict.answer);
    await next();
    const exposed = context.res.headers.get(EXPOSED) ?? undefined;
    for (const [name, value] of Object.entries(mergeExposed(verdict, exposed))) context.header(name, value);
    return undefined;
  };
}

/** The principal of a context that the guard let in. @throws {Error} when it did not pass the guard */
export const principalOf = (context: Pick<Context, "req">): Principal => principalOfRequest(context); // looked up by itself alone

const documentOf = (guard: Guard, { method, url }: Request) => guard.metadataAnswer(method, new URL(url).pathname);

/** On Node the request of the server stays within reach of handlers, as `env.incoming`. */
function incomingOf(env: unknown): IncomingMessage | undefined {
  const { incoming } = (env ?? {}) as { incoming?: Partial<IncomingMessage> };
  return Array.isArray(incoming?.rawHeaders) ? (incoming as IncomingMessage) : undefined;
}

/** Hono puts headers that were set before over those of the answer, so the merged list takes the place of the earlier one. */
function give({ res }: Context, answer: HttpAnswer): Response {
  const headers = mergeExposed(answer, res.headers.get(EXPOSED) ?? undefined);
  res.headers.delete(EXPOSED);
  return toResponse({ ...answer, headers });
}
