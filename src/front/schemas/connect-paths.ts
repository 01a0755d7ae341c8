import { z } from "zod";
import type { ZodOpenApiOperationObject, ZodOpenApiPathsObject } from "zod-openapi";
import { json, jsonRequest } from "./describe.ts";
import { IntrospectAnswer } from "./oauth.ts";

const SERVICE = "/countersign.introspection.v1.IntrospectionService";

const ConnectError = z
  .object({
    code: z.string().meta({ example: "unauthenticated" }),
    message: z.string().optional(),
    details: z.array(z.looseObject({})).optional(),
  })
  .meta({ id: "ConnectError", description: "The error of the Connect protocol; `details` has the code of this service." });

const Token = z.object({ token: z.string().min(1) });
const Key = z.object({ key: z.string().min(1).meta({ example: "csk_…" }) });
const KeyState = z
  .object({
    active: z.boolean(),
    client_id: z.string().optional(),
    key_id: z.string().optional(),
    scope: z.string().optional().meta({ description: "What the client may do at most; space-separated." }),
  })
  .meta({ id: "ApiKeyState", description: "Of a key that does not count nothing but `active` is told." });
/** Here `aud` is a list, whatever its length. */
const State = z.object({ ...IntrospectAnswer.shape, aud: z.array(z.string()).optional() }).meta({ id: "TokenState" });

const refused = {
  "400": json("Not valid.", ConnectError),
  "401": json("The caller could not be authenticated.", ConnectError),
  "415": { description: "The body is not application/json, or is encoded." },
  "429": json("Too many requests, or the body is too long.", ConnectError),
  "503": json("Not able to answer now.", ConnectError),
};

const call = (summary: string, request: z.ZodType, answer: z.ZodType): { readonly post: ZodOpenApiOperationObject } => ({
  post: {
    tags: ["Resource servers"],
    summary,
    description: "The gRPC method of this name over HTTP (Connect). For confidential clients, by HTTP Basic.",
    security: [{ clientBasic: [] }],
    requestBody: jsonRequest(request),
    responses: { "200": json("The answer.", answer), ...refused },
  },
});

/** The introspection service as it is reached without gRPC. */
export const connectPaths: ZodOpenApiPathsObject = {
  [`${SERVICE}/Introspect`]: call("The state of a token", Token, State),
  [`${SERVICE}/IntrospectBatch`]: call(
    "The states of 1 to 100 tokens, in the order of the request",
    z.object({ requests: z.array(Token).min(1).max(100) }),
    z.object({ responses: z.array(State) }),
  ),
  [`${SERVICE}/VerifyApiKey`]: call("Whether a static API key may be used now, and for which client", Key, KeyState),
};
