import type { SignedIn } from "../../../accounts/ports.ts";
import { signOutEverywhere, signOutHere } from "../../../accounts/sessions.ts";
import { isRefusal } from "../../../errors.ts";
import type { ValidateLogoutResponse } from "../../../gen/countersign/token/v1/token_pb.ts";
import { redirectWith } from "../../../protocol/authorization-request.ts";
import { parseForm } from "../../../protocol/form.ts";
import { type LogoutRequest, parseLogoutRequest, printLogoutRequest } from "../../../protocol/logout-request.ts";
import { callerOf } from "../../http/address.ts";
import { formText } from "../../http/body.ts";
import { FORM_TOKEN } from "../../http/cookies.ts";
import { sendRedirect } from "../../http/headers.ts";
import { languageOf } from "../../http/language.ts";
import { exceptHead, type FrontContext, type Handler, queryText } from "../../http/routes.ts";
import { ACCOUNT_PURPOSE, assertOwnForm, type PageKit, signedInTo } from "../kit.ts";
import { type Site, sendPage } from "../views/layout.ts";
import { badLogoutRequestView, signedOutView, signOutView } from "./view.ts";

/** Where the browser goes after the sign-out: to the client's registered URI, with its state, or to the page that confirms it. */
function addressOf({ postLogoutRedirectUri: uri }: ValidateLogoutResponse, { state }: LogoutRequest, site: Site): string {
  if (uri === undefined) return site.path("/logout");
  return state === undefined ? uri : redirectWith(uri, { state });
}

/**
 * GET /logout asks, POST /logout ends the session, or with `everywhere` all of the user's sessions. A client that sends an ID token of the
 * signed-in user skips the question and may have the browser redirected back. Errors in its request are shown, never redirected.
 * @see OpenID Connect RP-Initiated Logout
 */
export function signOutPage(kit: PageKit): { readonly GET: Handler; readonly POST: Handler } {
  const { ports, cookies, guard, site } = kit;

  async function endSession(ctx: FrontContext, signedIn: SignedIn | undefined, everywhere: boolean): Promise<void> {
    if (signedIn && everywhere) await signOutEverywhere(signedIn.user.id, ports.sessions, callerOf(ctx));
    else if (signedIn) await signOutHere(signedIn.session.id, signedIn.user.id, ports.sessions, callerOf(ctx));
    cookies.endSession(ctx);
  }

  /** @returns undefined for an invalid request */
  async function validated(ctx: FrontContext, idTokenHint: string, request: LogoutRequest): Promise<ValidateLogoutResponse | undefined> {
    const { clientId, postLogoutRedirectUri } = request;
    try {
      return await ports.core.validateLogout({ idTokenHint, clientId, postLogoutRedirectUri }, { signal: ctx.state.signal });
    } catch (error) {
      if (isRefusal(error) && error.code === "invalid_request") return undefined;
      throw error;
    }
  }

  function ask(ctx: FrontContext, signedIn: SignedIn | undefined): void {
    const view = signedIn
      ? signOutView(site, languageOf(ctx), { token: guard.token(ctx, ACCOUNT_PURPOSE), email: signedIn.user.email })
      : signedOutView(site, languageOf(ctx));
    sendPage(ctx, view);
  }

  return {
    GET: exceptHead(async (ctx) => {
      const request = parseLogoutRequest(queryText(ctx));
      const signedIn = await signedInTo(kit, ctx);
      if (request.idTokenHint === undefined) return ask(ctx, signedIn);
      const hint = await validated(ctx, request.idTokenHint, request);
      if (hint === undefined) return sendPage(ctx, badLogoutRequestView(site, languageOf(ctx)), 400);
      if (signedIn && signedIn.user.id !== hint.hintedSub) return ask(ctx, signedIn);
      await endSession(ctx, signedIn, false);
      sendRedirect(ctx, addressOf(hint, request, site));
    }),
    async POST(ctx) {
      const text = await formText(ctx);
      const form = parseForm(text);
      // A form without a token comes from an application. A browser sends no session cookie with a form of another site, but with a GET of
      // this site (SameSite=Lax).
      if (form.get(FORM_TOKEN) === undefined && form.get("everywhere") === undefined)
        return sendRedirect(ctx, `${site.path("/logout")}?${printLogoutRequest(parseLogoutRequest(text))}`);
      assertOwnForm(kit, ctx, form);
      await endSession(ctx, await signedInTo(kit, ctx), form.get("everywhere") === "yes");
      sendRedirect(ctx, site.path("/logout"));
    },
  };
}
