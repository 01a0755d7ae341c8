import { signIn } from "../../../accounts/sign-in.ts";
import { EMAIL_UNVERIFIED, hasSignUp } from "../../../accounts/sign-up-policy.ts";
import { isRefusal } from "../../../errors.ts";
import { assertShape, LoginBody } from "../../auth/shapes.ts";
import { callerOf } from "../../http/address.ts";
import { formBody } from "../../http/body.ts";
import { sendRedirect } from "../../http/headers.ts";
import type { FrontContext, Handler } from "../../http/routes.ts";
import { expired, hasSignedInSince, nextStep, storedRequest, waitingRequest } from "../../oauth/pending-request.ts";
import { languageOf } from "../../texts/language.ts";
import { beginPendingAction, failedForm, type PageKit, queryForm, queryMember, returnToOf, signedInTo } from "../kit.ts";
import { ACCOUNT_START, type ReturnTo, sendPage } from "../views/layout.ts";
import { shownClient } from "../views/words.ts";
import { type SignInPage, signInView } from "./view.ts";

const purpose = (requestId: string | undefined) => `sign-in ${requestId ?? ""}`;

type Attempt = Pick<SignInPage, "email" | "faults"> & { readonly status: number };

const FIRST: Attempt = { email: undefined, faults: [], status: 200 };

/** GET /login and POST /login: with `request` for an application; without it for the account page that `next` names, or the first one. */
export function signInPage(kit: PageKit): { readonly GET: Handler; readonly POST: Handler } {
  const { ports, cookies, guard, site } = kit;

  const show = (
    ctx: FrontContext,
    page: Omit<SignInPage, "token" | "faults" | "email" | "mayJoin">,
    { email, faults, status }: Attempt,
    hint?: string,
  ) => {
    const token = guard.token(ctx, purpose(page.returnTo.requestId));
    sendPage(
      ctx,
      signInView(site, languageOf(ctx), { ...page, mayJoin: hasSignUp(ports.signUpPolicy), token, faults, email: email ?? hint }),
      status,
    );
  };

  /** Shows the form for a pending request, unless no sign-in is needed. */
  async function showForRequest(ctx: FrontContext, requestId: string, attempt: Attempt): Promise<void> {
    const pending = await waitingRequest(kit, ctx, requestId);
    if (!pending) throw expired();
    const signedIn = await signedInTo(kit, ctx);
    const status = ctx.method === "POST" ? 303 : 302;
    const valid = await kit.flow.validate(ctx, storedRequest(pending.query), signedIn, status);
    if (!valid) return;
    const renewed = hasSignedInSince(pending, signedIn, cookies.session(ctx));
    const step = nextStep(valid.authorization, signedIn, renewed, ports.clock());
    const switching = attempt !== FIRST || queryMember(ctx, "switch") !== undefined;
    if (step.kind !== "sign_in" && !switching) return sendRedirect(ctx, site.path("/consent", { requestId }), status);
    const client = shownClient(languageOf(ctx), valid.authorization, valid.request.redirectUri ?? "");
    const again = signedIn !== undefined && step.kind === "sign_in";
    show(ctx, { returnTo: { requestId }, client, again }, attempt, again ? signedIn.user.email : valid.authorization.loginHint);
  }

  const showPlain = async (ctx: FrontContext, returnTo: ReturnTo, attempt: Attempt) => {
    if (attempt === FIRST && (await signedInTo(kit, ctx))) return sendRedirect(ctx, site.path(returnTo.next ?? ACCOUNT_START), 302);
    show(ctx, { returnTo, client: undefined, again: false }, attempt);
  };

  const showForm = (ctx: FrontContext, returnTo: ReturnTo, attempt: Attempt) =>
    returnTo.requestId === undefined ? showPlain(ctx, returnTo, attempt) : showForRequest(ctx, returnTo.requestId, attempt);

  return {
    GET: (ctx) => showForm(ctx, returnToOf(site, queryForm(ctx)), FIRST),
    async POST(ctx) {
      const form = await formBody(ctx);
      const returnTo = returnToOf(site, form);
      guard.assert(ctx, form, purpose(returnTo.requestId));
      const email = form.get("email") ?? "";
      try {
        const credentials = assertShape(LoginBody, { email, password: form.get("password") ?? "" });
        const { secret } = await signIn(credentials, ports, callerOf(ctx), cookies.session(ctx));
        cookies.startSession(ctx, secret, ports.sessionTtl);
        cookies.endPendingAction(ctx);
      } catch (error) {
        if (isRefusal(error) && error.reason === EMAIL_UNVERIFIED) {
          await beginPendingAction(kit, ctx, email, returnTo);
          return sendRedirect(ctx, site.path("/signup/sent", returnTo), 303);
        }
        return showForm(ctx, returnTo, { email, ...failedForm(ctx, error, ["email", "password"]) });
      }
      sendRedirect(
        ctx,
        returnTo.requestId === undefined ? site.path(returnTo.next ?? ACCOUNT_START) : site.path("/consent", returnTo),
        303,
      );
    },
  };
}
