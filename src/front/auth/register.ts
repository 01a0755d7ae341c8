import { z } from "zod";
import { forgotPassword, resetPassword } from "../../accounts/password-change.ts";
import type { User } from "../../accounts/ports.ts";
import { register, resendVerification, verifyEmail } from "../../accounts/registration.ts";
import { inMilliseconds } from "../../clock.ts";
import { parseForm } from "../../protocol/form.ts";
import { apiErrorPrinter, sendJson } from "../http/answers.ts";
import { callerOf } from "../http/caller.ts";
import { apiError, json, orPage } from "../http/describe.ts";
import { type ErrorPrinter, exceptHead, type FrontContext, queryText, type Route } from "../http/routes.ts";
import { pageErrorPrinter } from "../pages/errors.ts";
import type { PageKit } from "../pages/kit.ts";
import { sendStaleLink, sendVerified } from "../pages/sign-up/page.ts";
import { askedOf } from "../pages/views/layout.ts";
import type { UserPorts } from "../user-ports.ts";
import { accountRoute, EmailBody, RegisterBody, ResetBody, unavailable } from "./shapes.ts";

/** POST /auth/register. @see docs/protocol.md#accounts */
export const registerRoute = (ports: UserPorts): Route =>
  accountRoute(
    apiErrorPrinter(ports.issuer),
    "/auth/register",
    RegisterBody,
    () => ({
      summary: "Opens an account and sends a verification mail",
      responses: {
        "201": json("The account.", userShape()),
        "400": apiError("Not valid, or the password is too weak."),
        "403": apiError("SIGN_UP does not let this address open an account."),
        "409": apiError("The address has an account."),
        "429": apiError("Too many from this address; see Retry-After."),
      },
    }),
    async (ctx, signUp) => sendJson(ctx, userView(await register(signUp, ports, callerOf(ctx))), 201),
  );

const userView = ({ id, email, emailVerified, realmId, createdAt, updatedAt }: User) =>
  inMilliseconds({ id, email, emailVerified, realmId, createdAt, updatedAt }, "createdAt", "updatedAt");

const userShape = () =>
  z.object({
    id: z.uuid(),
    email: z.email(),
    emailVerified: z.boolean(),
    realmId: z.uuid(),
    createdAt: z.number(),
    updatedAt: z.number().nullable(),
  });

/** POST /auth/resend-verification: the same response for every address. */
export const resendVerificationRoute = (ports: UserPorts): Route =>
  accountRoute(
    resendErrorPrinter(apiErrorPrinter(ports.issuer)),
    "/auth/resend-verification",
    EmailBody,
    () => ({
      summary: "Sends the verification mail again",
      description: "Answers alike for every address.",
      responses: {
        "200": json("Sent, if there was anything to send.", z.object({ message: z.string() })),
        "400": apiError("Not valid."),
        "429": json("Too many; see Retry-After.", z.object({ error: z.string(), statusCode: z.number() })),
      },
    }),
    async (ctx, { email }) => {
      await resendVerification(email, ports, callerOf(ctx));
      sendJson(ctx, { message: "If this address is not yet confirmed, a new link is on its way." });
    },
  );

/** Prints as the API does, except 429, whose body has exactly two members here. */
const resendErrorPrinter =
  (print: ErrorPrinter): ErrorPrinter =>
  (ctx, refusal) => {
    print(ctx, refusal);
    if (refusal?.code === "too_many_requests") ctx.body = JSON.stringify({ error: "Too Many Requests", statusCode: 429 });
  };

/** GET /auth/verify: uses up the token of the mail; a page for a browser, JSON for every other client. */
export const verifyRoute = (kit: PageKit): Route => ({
  method: "GET",
  path: "/auth/verify",
  print: verifyErrorPrinter(kit),
  openapi: () => ({
    tags: ["Accounts"],
    summary: "Proves an e-mail address",
    description: "Answers with a page where the request prefers text/html; the page confirms again for a used token.",
    security: [],
    requestParams: { query: z.object({ token: z.string().regex(/^[0-9a-fA-F]{64}$/) }) },
    responses: {
      "200": orPage(json("Proven.", z.object({ message: z.string(), email: z.email() }))),
      "400": orPage(apiError("The token is malformed, unknown, used or expired.")),
      "503": orPage(unavailable()["503"]),
    },
  }),
  answer: exceptHead(async (ctx) => {
    ctx.vary("Accept");
    const isPage = wantsPage(ctx);
    const user = await verifyEmail(parseForm(queryText(ctx)).get("token") ?? "", kit.ports.users, callerOf(ctx), isPage);
    if (isPage) await sendVerified(askedOf(kit, ctx), user.email);
    else sendJson(ctx, { message: "The e-mail address is verified.", email: user.email });
  }),
});

/** Whether the client prefers a page to JSON; a client that accepts anything gets JSON. */
const wantsPage = (ctx: FrontContext): boolean => ctx.accepts("json", "html") === "html";

/** Prints errors in the form that the client prefers. The page for an expired link offers to send another one. */
function verifyErrorPrinter(kit: PageKit): ErrorPrinter {
  const [json, page] = [apiErrorPrinter(kit.ports.issuer), pageErrorPrinter(kit.site)];
  return (ctx, refusal) => {
    if (!wantsPage(ctx)) json(ctx, refusal);
    else if (refusal?.code === "invalid_request") sendStaleLink(askedOf(kit, ctx));
    else page(ctx, refusal);
  };
}

/** POST /auth/forgot-password: the same response for every address. */
export const forgotPasswordRoute = (ports: UserPorts): Route =>
  accountRoute(
    apiErrorPrinter(ports.issuer),
    "/auth/forgot-password",
    EmailBody,
    () => ({
      summary: "Sends a link for a new password",
      description: "Answers alike for every address. The link works once, within 30 minutes, and only the newest one does.",
      responses: {
        "200": json("Sent, if there is an account.", z.object({ message: z.string() })),
        "400": apiError("Not valid."),
        "429": apiError("Too many; see Retry-After."),
      },
    }),
    async (ctx, { email }) => {
      await forgotPassword(email, ports, callerOf(ctx));
      sendJson(ctx, { message: "If there is an account with this address, a link for a new password is on its way." });
    },
  );

/** POST /auth/reset-password: sets the password with the token of the mail, once. */
export const resetPasswordRoute = (ports: UserPorts): Route =>
  accountRoute(
    apiErrorPrinter(ports.issuer),
    "/auth/reset-password",
    ResetBody,
    () => ({
      summary: "Sets a new password by the token of the mail",
      description: "Ends every session and refresh token of the user. A password that is refused does not use up the token.",
      responses: {
        "200": json("Changed.", z.object({ message: z.string() })),
        "400": apiError("The token is malformed, unknown, used or expired, or the password is too weak."),
      },
    }),
    async (ctx, { token, password }) => {
      await resetPassword(token, password, ports, callerOf(ctx));
      sendJson(ctx, { message: "The password has been changed. Everything that was signed in has been signed out." });
    },
  );
