import { TRPCError } from "@trpc/server";
import { Refusal } from "../../errors.ts";
import { managementCaller } from "../../management/router.ts";
import { judgeCaller, refusalBehind } from "../../management/trpc.ts";
import { jsonBody } from "../http/body.ts";
import { apiErrorPrinter } from "../http/errors.ts";
import { exactRouter } from "../http/exact-router.ts";
import { noStore, sendJson } from "../http/headers.ts";
import type { FrontContext, RouteGroup } from "../http/routes.ts";
import { contextOf, type ManagementRoutesOptions } from "./context.ts";

type Procedures = ReturnType<typeof managementCaller>;
type ApiContext = FrontContext & { readonly params: Readonly<Record<string, string>> };

/**
 * `/api/clients/**`: the procedures of the typed API in the shape of specification §4.3 and §4.4. Bodies are handed on as they were read; what is wrong with them is the procedure's to say.
 */
export function clientApiRoutes(options: ManagementRoutesOptions): RouteGroup {
  const print = apiErrorPrinter(options.issuer);
  const router = exactRouter(print, options.fault);

  const calling =
    (work: (procedures: Procedures, ctx: ApiContext, id: string) => Promise<void>) =>
    (ctx: ApiContext): Promise<void> =>
      work(managementCaller(contextOf(ctx, options.ports)), ctx, ctx.params.id ?? "").catch((error: unknown) => {
        throw thrownBy(error);
      });

  router.get(
    COLLECTION,
    calling(async ({ clients }, ctx) => sendJson(ctx, await clients.list())),
  );
  router.post(
    COLLECTION,
    calling(async ({ clients }, ctx) => sendJson(ctx, await clients.create(unvalidated(await bodyOf(ctx, options))), 201)),
  );
  router.get(
    CLIENT,
    calling(async ({ clients }, ctx, id) => sendJson(ctx, await clients.get({ id }))),
  );
  router.patch(
    CLIENT,
    calling(async ({ clients }, ctx, id) => sendJson(ctx, await clients.update({ id, patch: unvalidated(await bodyOf(ctx, options)) }))),
  );
  router.delete(
    CLIENT,
    calling(async ({ clients }, ctx, id) => {
      await clients.delete({ id });
      noStore(ctx);
      ctx.status = 204;
    }),
  );
  router.post(
    `${CLIENT}/regenerate-secret`,
    calling(async ({ clients }, ctx, id) => {
      await assertNoBody(ctx, options);
      sendJson(ctx, await clients.regenerateSecret({ id }));
    }),
  );
  router.get(
    `${CLIENT}/api-keys`,
    calling(async ({ apiKeys }, ctx, clientId) => sendJson(ctx, await apiKeys.list({ clientId }))),
  );
  router.post(
    `${CLIENT}/api-keys`,
    calling(async ({ apiKeys }, ctx, clientId) => {
      const key = unvalidated(await bodyOf(ctx, options));
      sendJson(ctx, await apiKeys.create({ clientId, key }), 201);
    }),
  );
  router.delete(
    `${CLIENT}/api-keys/:keyId`,
    calling(async ({ apiKeys }, ctx, clientId) => sendJson(ctx, await apiKeys.revoke({ clientId, keyId: ctx.params.keyId ?? "" }))),
  );
  return { router, print };
}

/** The one path that answers with and without the slash at its end. */
const COLLECTION = ["/api/clients/", "/api/clients"];
const CLIENT = "/api/clients/:id";

/** A body on its way to the procedure, whose schema is the first to judge it. */
const unvalidated = (body: unknown): never => body as never;

/** Who may not ask learns nothing of what is wrong with the body. */
async function bodyOf(ctx: FrontContext, { ports }: ManagementRoutesOptions): Promise<unknown> {
  try {
    return await jsonBody(ctx);
  } catch (error) {
    await judgeCaller(contextOf(ctx, ports));
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
  await judgeCaller(contextOf(ctx, options.ports));
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
