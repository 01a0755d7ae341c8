import { register, resendVerification } from "../../accounts/registration.ts";
import { formBody } from "../middleware/body.ts";
import { callerOf } from "../people-ports.ts";
import type { Handler } from "../routes.ts";
import { assertShape, RegisterBody, ResendBody } from "../schemas/accounts.ts";
import { languageOf } from "../texts/language.ts";
import { failedForm, faultsOf, type PageKit, queryMember } from "./kit.ts";
import { sendPage } from "./send.ts";
import { checkMailView } from "./views/notices.ts";
import { signUpView } from "./views/sign-up.ts";

const purpose = (requestId: string | undefined) => `sign-up ${requestId ?? ""}`;
/** The purpose of the token in a form that asks for another verification mail. */
export const RESEND = "resend";
const FIELDS = ["email", "password", "firstName", "lastName"] as const;

/** GET /signup and POST /signup. */
export function signUpPage({ ports, guard, site }: PageKit): { readonly GET: Handler; readonly POST: Handler } {
  return {
    GET(ctx) {
      const requestId = queryMember(ctx, "request");
      sendPage(ctx, signUpView(site, languageOf(ctx), { token: guard.token(ctx, purpose(requestId)), requestId, faults: [] }));
    },
    async POST(ctx) {
      const form = await formBody(ctx);
      const requestId = form.get("request");
      guard.assert(ctx, form, purpose(requestId));
      const [email, firstName, lastName] = [form.get("email"), form.get("firstName"), form.get("lastName")];
      try {
        const signUp = assertShape(RegisterBody, { email: email ?? "", password: form.get("password"), firstName, lastName });
        const user = await register(signUp, ports, callerOf(ctx));
        const token = guard.token(ctx, RESEND);
        sendPage(ctx, checkMailView(site, languageOf(ctx), { email: user.email, token, requestId, again: false }), 201);
      } catch (error) {
        const { refusal, faults } = faultsOf(ctx, error, FIELDS);
        const token = guard.token(ctx, purpose(requestId));
        sendPage(
          ctx,
          signUpView(site, languageOf(ctx), { token, requestId, email, firstName, lastName, faults }),
          failedForm(ctx, refusal),
        );
      }
    },
  };
}

/** POST /signup/resend: another verification mail, for whoever has just signed up. */
export const resendPage =
  ({ ports, guard, site }: PageKit): Handler =>
  async (ctx) => {
    const form = await formBody(ctx);
    guard.assert(ctx, form, RESEND);
    const { email } = assertShape(ResendBody, { email: form.get("email") });
    await resendVerification(email, ports, callerOf(ctx));
    sendPage(
      ctx,
      checkMailView(site, languageOf(ctx), { email, token: guard.token(ctx, RESEND), requestId: form.get("request"), again: true }),
    );
  };
