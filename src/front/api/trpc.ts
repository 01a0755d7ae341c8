import { Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import type { TRPCError } from "@trpc/server";
import { fetchRequestHandler } from "@trpc/server/adapters/fetch";
import { Refusal } from "../../errors.ts";
import { managementRouter } from "../../management/router.ts";
import { authenticateOperator, type ManagementContext, outerError, refusalBehind } from "../../management/trpc.ts";
import { assertNoCredentialInQuery } from "../../protocol/form.ts";
import { apiErrorPrinter, noStore, sendJson, tokenChallenge, usesDpop } from "../http/answers.ts";
import { jsonBody, parseJson } from "../http/body.ts";
import { type ErrorPrinter, type FrontContext, type HotContext, queryText, type Route } from "../http/routes.ts";
import { endWithReader } from "../http/server.ts";
import { contextOf, type ManagementRoutesOptions } from "./context.ts";

const ENDPOINT = "/trpc";
const BATCH_LIMIT = 20;
/** Bytes of a body; a provisioning file or a logo may be longer. */
const BODY_LIMIT = 64 * 1024;
const FILE_LIMIT = 1024 * 1024;
const TAKE_FILES = [
  "operator.provision",
  "operator.previewProvision",
  "operator.users.import",
  "operator.realms.setBranding",
  "operator.realms.previewBranding",
];

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

async function answerCall(ctx: FrontContext, options: ManagementRoutesOptions): Promise<void> {
  const { issuer, fault } = options;
  assertNoCredentialInQuery(queryText(ctx));
  if (batchSize(ctx) > BATCH_LIMIT) return sendJson(ctx, TOO_MANY_CALLS, 400);
  const { signal } = ctx.state;
  const context = contextOf(ctx, options);
  const answer = await fetchRequestHandler({
    router: managementRouter,
    endpoint: ENDPOINT,
    req: await requestOf(ctx, context),
    createContext: () => context,
    onError: ({ error }) => {
      if (refusalBehind(error) === undefined && !signal.aborted)
        fault({ requestId: ctx.state.requestId, route: ENDPOINT, error: error.cause ?? error });
    },
    responseMeta: ({ errors }) => ({ headers: errorHeaders(errors, issuer, usesDpop(ctx)) }),
  });
  ctx.status = answer.status;
  answer.headers.forEach((value, name) => {
    ctx.set(name, value);
  });
  noStore(ctx);
  if (answer.status === 405) ctx.set("Allow", ctx.method === "POST" ? "GET, HEAD" : "POST");
  if (answer.headers.get("content-type") !== EVENT_STREAM) {
    ctx.body = await answer.text();
    return;
  }
  ctx.set("Cache-Control", "no-store, no-transform");
  ctx.body = answer.body && Readable.fromWeb(answer.body as ReadableStream);
  endWithReader(ctx.req, ctx.res);
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

const EVENT_STREAM = "text/event-stream";

/**
 * The request with its body read; tRPC sees only the media type and the last event of a stream. A file is read for operators only: slow
 * senders are not limited in number, and each would hold its part of a MiB.
 */
async function requestOf(ctx: FrontContext, context: ManagementContext): Promise<Request> {
  const url = new URL(ctx.req.url ?? "", "http://front.invalid");
  const lastEventId = ctx.req.headers["last-event-id"];
  const input = url.searchParams.get("input");
  if (input !== null) parseJson(input, "The input in the query"); // refuses what no body may hold
  if (ctx.method !== "POST") return new Request(url, { headers: typeof lastEventId === "string" ? { "last-event-id": lastEventId } : {} });
  const takesFile = TAKE_FILES.some((path) => url.pathname === `${ENDPOINT}/${path}`);
  if (takesFile) await authenticateOperator(context);
  const body = JSON.stringify(await jsonBody(ctx, takesFile ? FILE_LIMIT : BODY_LIMIT));
  return new Request(url, { method: "POST", headers: { "content-type": "application/json" }, body });
}

function errorHeaders(errors: readonly TRPCError[], issuer: string, dpop: boolean): Record<string, string> {
  const refusals = errors.map(refusalBehind).filter((refusal) => refusal instanceof Refusal);
  const wait = Math.max(0, ...refusals.map(({ code, detail }) => detail.retryAfter ?? (code === "temporarily_unavailable" ? 5 : 0)));
  const nonce = refusals.find(({ detail }) => detail.dpopNonce !== undefined)?.detail.dpopNonce;
  const challenge = refusals
    .map(({ code, reason, detail }) =>
      tokenChallenge({ code, reason, detail: { ...(detail.stepUp && { stepUp: detail.stepUp }) } }, issuer, dpop),
    )
    .find((header) => header !== undefined);
  return {
    ...(wait > 0 && { "retry-after": String(Math.ceil(wait)) }),
    ...(challenge !== undefined && { "www-authenticate": challenge }),
    ...(nonce !== undefined && { "dpop-nonce": nonce }),
  };
}
