import { Refusal } from "../../errors.ts";
import { ClientPatch, CreateClientInput } from "../../management/inputs.ts";
import { authenticateCaller } from "../../management/trpc.ts";
import { apiError, json, jsonRequest } from "../http/describe.ts";
import { apiErrorPrinter } from "../http/errors.ts";
import { noStore, sendJson } from "../http/headers.ts";
import type { ErrorPrinter, FrontContext, Route } from "../http/routes.ts";
import {
  absent,
  ClientList,
  ClientView,
  ClientWithSecret,
  CreatedClient,
  clientParameter,
  invalidBody,
  notAllowed,
  ofClients,
} from "./client-shapes.ts";
import { bodyOf, contextOf, type ManagementRoutesOptions, type ProcedureCalls, procedureCalls } from "./context.ts";

/** `/api/clients/**`: the procedures of the typed API, which validate the bodies, in the shape of docs/protocol.md#registration. */
export function clientApiRoutes(options: ManagementRoutesOptions): readonly Route[] {
  const print = apiErrorPrinter(options.issuer);
  const calls = procedureCalls(options);
  const regenerateSecret: Route = {
    method: "POST",
    path: `${CLIENT}/regenerate-secret`,
    print,
    openapi: () => ({
      ...ofClients,
      summary: "Gives a client a new secret; the old one is refused at once",
      requestParams: clientParameter(),
      responses: {
        "200": json("The client, with its new secret.", ClientWithSecret()),
        ...notAllowed(),
        "400": apiError("The client has no use for a secret, or a body was sent: the call takes none."),
        "413": apiError("A body was sent, and it is longer than 64 KiB."),
        "415": apiError("A body was sent that is not application/json."),
        ...absent(),
      },
    }),
    answer: calls.calling(async ({ clients }, ctx) => {
      await assertNoBody(ctx, options);
      sendJson(ctx, await clients.regenerateSecret(idOf(ctx)));
    }),
  };
  return [...collectionRoutes(print, calls), ...clientRoutes(print, calls), regenerateSecret];
}

const collectionRoutes = (print: ErrorPrinter, { calling, body }: ProcedureCalls): readonly Route[] => [
  {
    method: "GET",
    path: COLLECTION,
    print,
    openapi: () => ({
      ...ofClients,
      summary: "Your clients",
      responses: { "200": json("All of them, newest first.", ClientList()), ...notAllowed() },
    }),
    answer: calling(async ({ clients }, ctx) => sendJson(ctx, await clients.list())),
  },
  {
    method: "POST",
    path: COLLECTION,
    print,
    openapi: () => ({
      ...ofClients,
      summary: "Makes a client",
      requestBody: jsonRequest(CreateClientInput),
      responses: { "201": json("The client, with its secret.", CreatedClient()), ...notAllowed(), ...invalidBody() },
    }),
    answer: calling(async ({ clients }, ctx) => sendJson(ctx, await clients.create(await body(ctx)), 201)),
  },
];

const clientRoutes = (print: ErrorPrinter, { calling, body }: ProcedureCalls): readonly Route[] => [
  {
    method: "GET",
    path: CLIENT,
    print,
    openapi: () => ({
      ...ofClients,
      summary: "One client; a static API key of its own may read it too",
      requestParams: clientParameter(),
      responses: { "200": json("The client.", ClientView()), ...notAllowed(), ...absent() },
    }),
    answer: calling(async ({ clients }, ctx) => sendJson(ctx, await clients.get(idOf(ctx)))),
  },
  {
    method: "PATCH",
    path: CLIENT,
    print,
    openapi: () => ({
      ...ofClients,
      summary: "Changes what is sent, and nothing else",
      description:
        "A method without a secret drops the secret. A change to a method with one makes none: ask for one with regenerate-secret, since a secret is shown by that call and by the creation alone; until then the client cannot authenticate.",
      requestParams: clientParameter(),
      requestBody: jsonRequest(ClientPatch),
      responses: { "200": json("The client as it is now.", ClientView()), ...notAllowed(), ...invalidBody(), ...absent() },
    }),
    answer: calling(async ({ clients }, ctx) => sendJson(ctx, await clients.update({ ...idOf(ctx), patch: await body(ctx) }))),
  },
  {
    method: "DELETE",
    path: CLIENT,
    print,
    openapi: () => ({
      ...ofClients,
      summary: "Deletes a client, with its keys and all that was given to it",
      requestParams: clientParameter(),
      responses: { "204": { description: "Deleted." }, ...notAllowed(), ...absent() },
    }),
    answer: calling(async ({ clients }, ctx) => {
      await clients.delete(idOf(ctx));
      noStore(ctx);
      ctx.status = 204;
    }),
  },
];

/** The only path that answers with and without a trailing slash. */
const COLLECTION = ["/api/clients/", "/api/clients"] as const;
const CLIENT = "/api/clients/:id";

const idOf = ({ params }: FrontContext) => ({ id: params.id ?? "" });

/** Refuses a body where the call takes none: a caller may expect an effect. @throws {Refusal} invalid_request, unsupported_media_type */
async function assertNoBody(ctx: FrontContext, options: ManagementRoutesOptions): Promise<void> {
  const { "content-length": length, "transfer-encoding": coding } = ctx.req.headers;
  if (coding === undefined && Number(length ?? 0) === 0) return;
  const body = await bodyOf(ctx, options);
  if (typeof body === "object" && body !== null && !Array.isArray(body) && Object.keys(body).length === 0) return;
  await authenticateCaller(contextOf(ctx, options.ports));
  throw new Refusal("invalid_request", "body_not_empty", { description: "This call takes no body." });
}
