import { TRPCError } from "@trpc/server";
import { Refusal } from "../../errors.ts";
import { managementCaller } from "../../management/router.ts";
import { authenticateCaller, refusalBehind } from "../../management/trpc.ts";
import { jsonBody } from "../http/body.ts";
import { apiErrorPrinter } from "../http/errors.ts";
import { noStore, sendJson } from "../http/headers.ts";
import type { FrontContext, Handler, Route } from "../http/routes.ts";
import { contextOf, type ManagementRoutesOptions } from "./context.ts";

type Procedures = ReturnType<typeof managementCaller>;
/**
 * `/api/clients/**`: the procedures of the typed API in the shape of docs/protocol.md#registration. Bodies are passed on unvalidated, since
 * the procedures validate them.
 */
export function clientApiRoutes(options: ManagementRoutesOptions): readonly Route[] {
  const print = apiErrorPrinter(options.issuer);
  const calling =
    (work: (procedures: Procedures, ctx: FrontContext) => Promise<void>): Handler =>
    (ctx) =>
      work(managementCaller(contextOf(ctx, options.ports)), ctx).catch((error: unknown) => {
        throw thrownBy(error);
      });
  const body = async (ctx: FrontContext) => unvalidated(await bodyOf(ctx, options));
  return [
    {
      method: "GET",
      path: COLLECTION,
      print,
      answer: calling(async ({ clients }, ctx) => sendJson(ctx, await clients.list())),
    },
    {
      method: "POST",
      path: COLLECTION,
      print,
      answer: calling(async ({ clients }, ctx) => sendJson(ctx, await clients.create(await body(ctx)), 201)),
    },
    {
      method: "GET",
      path: CLIENT,
      print,
      answer: calling(async ({ clients }, ctx) => sendJson(ctx, await clients.get(idOf(ctx)))),
    },
    {
      method: "PATCH",
      path: CLIENT,
      print,
      answer: calling(async ({ clients }, ctx) => sendJson(ctx, await clients.update({ ...idOf(ctx), patch: await body(ctx) }))),
    },
    {
      method: "DELETE",
      path: CLIENT,
      print,
      answer: calling(async ({ clients }, ctx) => {
        await clients.delete(idOf(ctx));
        noStore(ctx);
        ctx.status = 204;
      }),
    },
    {
      method: "POST",
      path: `${CLIENT}/regenerate-secret`,
      print,
      answer: calling(async ({ clients }, ctx) => {
        await assertNoBody(ctx, options);
        sendJson(ctx, await clients.regenerateSecret(idOf(ctx)));
      }),
    },
    {
      method: "GET",
      path: KEYS,
      print,
      answer: calling(async ({ apiKeys }, ctx) => sendJson(ctx, await apiKeys.list(keyOf(ctx)))),
    },
    {
      method: "POST",
      path: KEYS,
      print,
      answer: calling(async ({ apiKeys }, ctx) => sendJson(ctx, await apiKeys.create({ ...keyOf(ctx), key: await body(ctx) }), 201)),
    },
    {
      method: "DELETE",
      path: `${KEYS}/:keyId`,
      print,
      answer: calling(async ({ apiKeys }, ctx) => sendJson(ctx, await apiKeys.revoke(keyOf(ctx)))),
    },
  ];
}

/** The one path that answers with and without a slash at its end. */
const COLLECTION = ["/api/clients/", "/api/clients"] as const;
const CLIENT = "/api/clients/:id";
const KEYS = "/api/clients/:clientId/api-keys";

const idOf = ({ params }: FrontContext) => ({ id: params.id ?? "" });
const keyOf = ({ params }: FrontContext) => ({ clientId: params.clientId ?? "", keyId: params.keyId ?? "" });

/** A body on its way to the procedure, whose schema is the first to judge it. */
const unvalidated = (body: unknown): never => body as never;

/** Who may not ask learns nothing of what is wrong with the body. */
async function bodyOf(ctx: FrontContext, { ports }: ManagementRoutesOptions): Promise<unknown> {
  try {
    return await jsonBody(ctx);
  } catch (error) {
    await authenticateCaller(contextOf(ctx, ports));
    throw error;
  }
}

/**
 * Nothing can be said to a call that takes nothing; who tries may mean something else.
 * @throws {Refusal} invalid_request, unsupported_media_type
 */
async function assertNoBody(ctx: FrontContext, options: ManagementRoutesOptions): Promise<void> {
  const { "content-length": length, "transfer-encoding": coding } = ctx.req.headers;
  if (coding === undefined && Number(length ?? 0) === 0) return;
  const body = await bodyOf(ctx, options);
  if (typeof body === "object" && body !== null && !Array.isArray(body) && Object.keys(body).length === 0) return;
  await authenticateCaller(contextOf(ctx, options.ports));
  throw new Refusal("invalid_request", "body_not_empty", { description: "This call takes no body." });
}

/** What a procedure threw, as it is printed here: members of the body are named without the input that they travelled in. */
function thrownBy(error: unknown): unknown {
  if (!(error instanceof TRPCError)) return error;
  const refusal = refusalBehind(error);
  if (refusal === undefined) return error.cause ?? error;
  const { issues } = refusal.detail;
  if (issues === undefined) return refusal;
  const ofBody = issues.map(({ path, message }) => ({ path: path.replace(/^(?:patch|key)(?:\.|$)/, ""), message }));
  return new Refusal(refusal.code, refusal.reason, { ...refusal.detail, issues: ofBody });
}
