import { z } from "zod";
import type { ZodOpenApiOperationObject } from "zod-openapi";
import { isRefusal, Refusal } from "../../errors.ts";
import { isDeceiving, isVisible } from "../../protocol/display-name.ts";
import { issuesOf } from "../../protocol/issue-messages.ts";
import { jsonBody } from "../http/body.ts";
import { apiError, jsonRequest } from "../http/describe.ts";
import type { ErrorPrinter, FrontContext, Route } from "../http/routes.ts";

const email = z
  .email({ error: "Enter an e-mail address in ASCII, such as name@example.com." })
  .max(254, { error: "This e-mail address is too long." });

/** Longer than any password that the rules allow; the rules themselves are checked later. */
const password = z.string({ error: "Enter a password." }).max(1024, { error: "This password is too long." });

/** A first or last name, which may be empty. @see protocol/display-name.ts */
const name = z
  .string()
  .trim()
  .max(100, { error: "Use at most 100 characters." })
  .refine((value) => value.isWellFormed() && !isDeceiving(value), { error: "Use no control or bidirectional characters." })
  .refine((value) => value === "" || isDeceiving(value) || isVisible(value), { error: "Use at least one visible character." });

export const RegisterBody = z.strictObject({
  email,
  password,
  realmId: z.uuid({ error: "This must be a UUID." }).optional(),
  firstName: name.optional(),
  lastName: name.optional(),
});

/** The address is only looked up, so its syntax is not checked. */
export const LoginBody = z.strictObject({
  email: z.string().max(254),
  password,
  code: z.string().max(64).optional().meta({ description: "Of a user with a second factor: the code of the app, or a recovery code." }),
});

export const EmailBody = z.strictObject({ email });

/** The syntax of the token is checked when it is looked up. */
export const ResetBody = z.strictObject({
  token: z.string().max(200).meta({ description: "Of the mail: 64 hexadecimal characters." }),
  password,
});

/** The address is that of the invitation, or chosen by the first operator. */
export const InvitationBody = z.strictObject({ token: z.string().max(200), email, password });

export const NameBody = z.strictObject({ firstName: name.optional(), lastName: name.optional() });

export const PasswordBody = z.strictObject({ password });

/** The value as the schema reads it. @throws {Refusal} invalid_request with an issue for each invalid member */
export function assertShape<T extends z.ZodType>(schema: T, value: unknown): z.output<T> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new Refusal("invalid_request", "body_shape", { description: "The request is not valid.", issues: issuesOf(result.error) });
}

/** Reads a JSON body; one that is too large is invalid like any other here. @throws {Refusal} invalid_request, unsupported_media_type */
async function accountBody<T extends z.ZodType>(ctx: FrontContext, schema: T): Promise<z.output<T>> {
  try {
    return assertShape(schema, await jsonBody(ctx));
  } catch (error) {
    if (!isRefusal(error) || error.code !== "payload_too_large") throw error;
    // The rest of the body stays unread, so the connection cannot carry another request.
    ctx.set("Connection", "close");
    throw new Refusal("invalid_request", "body_too_large", { description: "The body is too large." });
  }
}

/** A POST route of the account endpoints that takes a JSON body. */
export const accountRoute = <Body extends z.ZodType>(
  print: ErrorPrinter,
  path: string,
  body: Body,
  describe: () => ZodOpenApiOperationObject,
  answer: (ctx: FrontContext, body: z.output<Body>) => Promise<void>,
): Route => ({
  method: "POST",
  path,
  print,
  openapi: () => {
    const { responses, ...operation } = describe();
    const unreadable = apiError("The body is not application/json, or is encoded.");
    return {
      tags: ["Accounts"],
      ...operation,
      security: [],
      requestBody: jsonRequest(body),
      responses: { ...responses, "415": unreadable, ...unavailable() },
    };
  },
  answer: async (ctx) => answer(ctx, await accountBody(ctx, body)),
});

export const unavailable = () => ({ "503": apiError("Not able to answer now; see Retry-After.") });
