import { z } from "zod";
import { Refusal } from "../../errors.ts";
import { issuesOf } from "../../protocol/issue-messages.ts";

const email = z
  .email({ error: "Enter an e-mail address, such as name@example.com." })
  .max(254, { error: "This e-mail address is too long." });

/** Long enough for every password that the rules allow, in any form; the rules themselves are judged later. */
const password = z.string({ error: "Enter a password." }).max(1024, { error: "This password is too long." });

/** A name of a person, which may be empty: no control characters, none that turn the direction of the text around it. */
const name = z
  .string()
  .trim()
  .max(100, { error: "Use at most 100 characters." })
  .refine((value) => value.isWellFormed() && !/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u.test(value), {
    error: "Use no control or bidirectional characters.",
  });

/** POST /auth/register (specification §4.2). */
export const RegisterBody = z.strictObject({
  email,
  password,
  realmId: z.uuid({ error: "This is no UUID." }).optional(),
  firstName: name.optional(),
  lastName: name.optional(),
});

/** POST /auth/login. The address is only looked up, so that its form need not be judged. */
export const LoginBody = z.strictObject({ email: z.string().max(254), password });

/** POST /auth/resend-verification. */
export const ResendBody = z.strictObject({ email });

/** POST /auth/forgot-password. */
export const ForgotBody = z.strictObject({ email });

/** POST /auth/reset-password. What form the token has is judged with the rest of it. */
export const ResetBody = z.strictObject({
  token: z.string().max(200).meta({ description: "Of the mail: 64 hexadecimal characters." }),
  password,
});

/** What a person is called. */
export const NameBody = z.strictObject({ firstName: name.optional(), lastName: name.optional() });

/** A new password of somebody who knows the old one. */
export const PasswordBody = z.strictObject({ currentPassword: password, password });

/** What deleting an account asks for. */
export const ClosingBody = z.strictObject({ currentPassword: password });

/** The user that registration returns; times in milliseconds (specification §2.1). */
export const UserView = z.object({
  id: z.uuid(),
  email: z.email(),
  emailVerified: z.boolean(),
  realmId: z.uuid(),
  createdAt: z.number(),
  updatedAt: z.number().nullable(),
});

/** The token set of a sign-in (specification §2.5). */
export const LoginTokenSet = z.object({
  access_token: z.string(),
  refresh_token: z.string(),
  expires_in: z.number().meta({ description: "Seconds." }),
  token_type: z.literal("Bearer"),
});

export const LogoutResult = z.object({ success: z.literal(true), message: z.literal("Successfully logged out") });
export const ResendResult = z.object({ message: z.string() });
/** 429 of POST /auth/resend-verification (specification §4.2). */
export const ResendRefusal = z.object({ error: z.string(), statusCode: z.number() });
export const ForgotResult = z.object({ message: z.string() });
export const ResetResult = z.object({ message: z.string() });
export const VerifyResult = z.object({ message: z.string(), email: z.email() });

/** A consent of the signed-in person; times in milliseconds. */
export const ConsentView = z.object({
  id: z.uuid(),
  clientId: z.string(),
  clientName: z.string(),
  scopes: z.array(z.string()),
  resources: z.array(z.string()),
  createdAt: z.number(),
  updatedAt: z.number().nullable(),
  lastUsedAt: z.number().nullable(),
});

/** GET /consents/ (specification §4.5). */
export const ConsentList = z.object({ consents: z.array(ConsentView), csrfToken: z.string() });

/**
 * The value in the shape that the schema demands.
 * @throws {Refusal} invalid_request that says what is wrong with which member
 */
export function assertShape<T extends z.ZodType>(schema: T, value: unknown): z.output<T> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new Refusal("invalid_request", "body_shape", { description: "The request is not valid.", issues: issuesOf(result.error) });
}
