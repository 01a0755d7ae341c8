import { forgotPassword, resetPassword } from "../../accounts/forgotten-password.ts";
import { sendJson } from "../http/headers.ts";
import type { Handler } from "../http/routes.ts";
import { ForgotBody, ResetBody } from "../schemas/accounts.ts";
import type { UserPorts } from "../user-ports.ts";
import { callerOf } from "../user-ports.ts";
import { accountBody } from "./body.ts";

/** POST /auth/forgot-password: the same answer for every address. */
export const forgotPasswordRoute =
  (ports: UserPorts): Handler =>
  async (ctx) => {
    const { email } = await accountBody(ctx, ForgotBody);
    await forgotPassword(email, ports, callerOf(ctx));
    sendJson(ctx, { message: "If there is an account with this address, a link for a new password is on its way." });
  };

/** POST /auth/reset-password: sets the password by the token of the mail, once. */
export const resetPasswordRoute =
  (ports: UserPorts): Handler =>
  async (ctx) => {
    const { token, password } = await accountBody(ctx, ResetBody);
    await resetPassword(token, password, ports, callerOf(ctx));
    sendJson(ctx, { message: "The password has been changed. Everything that was signed in has been signed out." });
  };
