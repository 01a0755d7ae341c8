import { resendVerification } from "../../accounts/registration.ts";
import { sendJson } from "../http/headers.ts";
import type { ErrorPrinter, Handler } from "../http/routes.ts";
import { ResendBody } from "../schemas/accounts.ts";
import type { UserPorts } from "../user-ports.ts";
import { callerOf } from "../user-ports.ts";
import { accountBody } from "./body.ts";

/** POST /auth/resend-verification: the same answer for every address (specification §4.2). */
export const resendVerificationRoute =
  (ports: UserPorts): Handler =>
  async (ctx) => {
    const { email } = await accountBody(ctx, ResendBody);
    await resendVerification(email, ports, callerOf(ctx));
    sendJson(ctx, { message: "If this address waits for its confirmation, a new link is on its way." });
  };

/** As the API prints errors, but for 429, whose body has exactly two members here (specification §7.2). */
export const resendErrorPrinter =
  (print: ErrorPrinter): ErrorPrinter =>
  (ctx, refusal) => {
    print(ctx, refusal);
    if (refusal?.code === "too_many_requests") ctx.body = JSON.stringify({ error: "Too Many Requests", statusCode: 429 });
  };
