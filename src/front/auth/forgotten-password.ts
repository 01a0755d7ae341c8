import { z } from "zod";
import { forgotPassword, resetPassword } from "../../accounts/forgotten-password.ts";
import { apiError, json, jsonRequest } from "../http/describe.ts";
import { apiErrorPrinter } from "../http/errors.ts";
import { sendJson } from "../http/headers.ts";
import type { Route } from "../http/routes.ts";
import { callerOf, type UserPorts } from "../user-ports.ts";
import { accountBody, EmailBody, ResetBody, unavailable, unreadableBody } from "./shapes.ts";

/** POST /auth/forgot-password: the same response for every address. */
export const forgotPasswordRoute = (ports: UserPorts): Route => ({
  method: "POST",
  path: "/auth/forgot-password",
  print: apiErrorPrinter(ports.issuer),
  openapi: () => ({
    tags: ["Accounts"],
    summary: "Sends a link for a new password",
    description: "Answers alike for every address. The link works once, within 30 minutes, and only the newest one does.",
    security: [],
    requestBody: jsonRequest(EmailBody),
    responses: {
      "200": json("Sent, if there is an account.", z.object({ message: z.string() })),
      "400": apiError("Not valid."),
      "429": apiError("Too many; see Retry-After."),
      ...unreadableBody(),
      ...unavailable(),
    },
  }),
  async answer(ctx) {
    const { email } = await accountBody(ctx, EmailBody);
    await forgotPassword(email, ports, callerOf(ctx));
    sendJson(ctx, { message: "If there is an account with this address, a link for a new password is on its way." });
  },
});

/** POST /auth/reset-password: sets the password with the token of the mail, once. */
export const resetPasswordRoute = (ports: UserPorts): Route => ({
  method: "POST",
  path: "/auth/reset-password",
  print: apiErrorPrinter(ports.issuer),
  openapi: () => ({
    tags: ["Accounts"],
    summary: "Sets a new password by the token of the mail",
    description: "Ends every session and refresh token of the user. A password that is refused does not use up the token.",
    security: [],
    requestBody: jsonRequest(ResetBody),
    responses: {
      "200": json("Changed.", z.object({ message: z.string() })),
      "400": apiError("The token is malformed, unknown, used or expired, or the password is too weak."),
      ...unreadableBody(),
      ...unavailable(),
    },
  }),
  async answer(ctx) {
    const { token, password } = await accountBody(ctx, ResetBody);
    await resetPassword(token, password, ports, callerOf(ctx));
    sendJson(ctx, { message: "The password has been changed. Everything that was signed in has been signed out." });
  },
});
