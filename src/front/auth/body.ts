import type { z } from "zod";
import { isRefusal, Refusal } from "../../errors.ts";
import { jsonBody } from "../http/body.ts";
import type { FrontContext } from "../http/routes.ts";
import { assertShape } from "../schemas/accounts.ts";

/**
 * The JSON body of an account endpoint. An oversized one, such as a password of a megabyte, is a bad request like any other here.
 * @throws {Refusal} invalid_request, unsupported_media_type
 */
export async function accountBody<T extends z.ZodType>(ctx: FrontContext, schema: T): Promise<z.output<T>> {
  return assertShape(schema, await smallJson(ctx));
}

async function smallJson(ctx: FrontContext): Promise<unknown> {
  try {
    return await jsonBody(ctx);
  } catch (error) {
    if (!isRefusal(error) || error.code !== "payload_too_large") throw error;
    // The rest of the body stays unread, so the connection can carry no further request.
    ctx.set("Connection", "close");
    throw new Refusal("invalid_request", "body_too_large", { description: "The body is too large." });
  }
}
