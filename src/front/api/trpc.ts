import type { TRPCError } from "@trpc/server";
import { fetchRequestHandler } from "@trpc/server/adapters/fetch";
import { Refusal } from "../../errors.ts";
import { managementRouter } from "../../management/router.ts";
import { outerError, refusalBehind } from "../../management/trpc.ts";
import { assertNoCredentialInQuery } from "../../protocol/form.ts";
import { jsonBody } from "../http/body.ts";
import { apiErrorPrinter } from "../http/errors.ts";
import { noStore, sendJson } from "../http/headers.ts";
import { type ErrorPrinter, type FrontContext, type HotContext, queryText, type Route } from "../http/routes.ts";
import { contextOf, type ManagementRoutesOptions } from "./context.ts";

const ENDPOINT = "/trpc";
/** Calls in one batch. */
const BATCH_LIMIT = 20;
/** Bytes of a body; a provisioning file may be longer. */
const BODY_LIMIT = 64 * 1024;
const FILE_LIMIT = 1024 * 1024;
const TAKE_FILES = ["operator.provision", "operator.users.import"];

/** The typed API. Its bodies pass the strict reader first, so that the rules for all JSON apply: size, depth, coding, media type. */
export function trpcRoutes(options: ManagementRoutesOptions): readonly Route[] {
  const route = {
    path: `${ENDPOINT}/:path`,
    print: printerOf(options.issuer),
    answer: (ctx: FrontContext) => answerCall(ctx, options),
  };
  return [
    { ...route, method: "GET" },
    { ...route, method: "POST" },
  ];
}

/** Status and headers of the API, with a body that tRPC clients can read. */
function printerOf(issuer: string): ErrorPrinter<HotContext> {
  const print = apiErrorPrinter(issuer);
  return (ctx, refusal) => {
    print(ctx, refusal);
    ctx.body = JSON.stringify(outerError(refusal));
  };
}

async function answerCall(ctx: FrontContext, { issuer, ports, fault }: ManagementRoutesOptions): Promise<void> {
  assertNoCredentialInQuery(queryText(ctx));
  if (batchSize(ctx) > BATCH_LIMIT) return sendJson(ctx, TOO_MANY_CALLS, 400);
  const { signal } = ctx.state;
  const answer = await fetchRequestHandler({
    router: managementRouter,
    endpoint: ENDPOINT,
    req: await requestOf(ctx),
    createContext: () => contextOf(ctx, ports),
    onError: ({ error }) => {
      if (refusalBehind(error) === undefined && !signal.aborted)
        fault({ requestId: ctx.state.requestId, route: ENDPOINT, error: error.cause ?? error });
    },
    responseMeta: ({ errors }) => ({ headers: errorHeaders(errors, issuer) }),
  });
  ctx.status = answer.status;
  answer.headers.forEach((value, name) => {
    ctx.set(name, value);
  });
  noStore(ctx);
  ctx.body = await answer.text();
}

/** The calls of a batch are in the path, separated by commas. */
function batchSize(ctx: FrontContext): number {
  const { pathname, searchParams } = new URL(ctx.req.url ?? "", "http://front.invalid");
  return searchParams.get("batch") === "1" ? pathname.split(",").length : 1;
}

const TOO_LONG = `A batch holds at most ${BATCH_LIMIT} calls.`;
/** In the shape of tRPC errors; the number is JSON-RPC's "invalid request". */
const TOO_MANY_CALLS = {
  error: { code: -32_600, message: TOO_LONG, data: { code: "BAD_REQUEST", httpStatus: 400, error: "invalid_request", message: TOO_LONG } },
};

/** The request with its body read; tRPC sees only the media type of the headers. */
async function requestOf(ctx: FrontContext): Promise<Request> {
  const url = new URL(ctx.req.url ?? "", "http://front.invalid");
  if (ctx.method !== "POST") return new Request(url);
  const limit = TAKE_FILES.some((path) => url.pathname === `${ENDPOINT}/${path}`) ? FILE_LIMIT : BODY_LIMIT;
  const body = JSON.stringify(await jsonBody(ctx, limit));
  return new Request(url, { method: "POST", headers: { "content-type": "application/json" }, body });
}

function errorHeaders(errors: readonly TRPCError[], issuer: string): Record<string, string> {
  const refusals = errors.map(refusalBehind).filter((refusal) => refusal instanceof Refusal);
  const wait = Math.max(0, ...refusals.map(({ code, detail }) => detail.retryAfter ?? (code === "temporarily_unavailable" ? 5 : 0)));
  const challenge = refusals.map((refusal) => challengeOf(refusal, issuer)).find((header) => header !== undefined);
  return { ...(wait > 0 && { "retry-after": String(Math.ceil(wait)) }), ...(challenge !== undefined && { "www-authenticate": challenge }) };
}

function challengeOf({ code }: Refusal, issuer: string): string | undefined {
  if (code === "unauthenticated") return `Bearer realm="${issuer}"`;
  if (code === "invalid_token" || code === "insufficient_scope") return `Bearer realm="${issuer}", error="${code}"`;
  return undefined;
}
