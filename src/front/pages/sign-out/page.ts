import type { SignedIn } from "../../../accounts/ports.ts";
import { signOutEverywhere, signOutHere } from "../../../accounts/sessions.ts";
import { isRefusal } from "../../../errors.ts";
import type { ValidateLogoutResponse } from "../../../gen/countersign/token/v1/token_pb.ts";
import { redirectWith } from "../../../protocol/authorization-request.ts";
import type { Form } from "../../../protocol/form.ts";
import type { Texts } from "../../../texts/languages.ts";
import { sendRedirect } from "../../http/answers.ts";
import { formBody } from "../../http/body.ts";
import { callerOf } from "../../http/caller.ts";
import { FORM_TOKEN } from "../../http/cookies.ts";
import { exceptHead, type FrontContext, type Handler } from "../../http/routes.ts";
import { accountToken, type PageKit, queryForm, senderOfForm, signedInTo } from "../kit.ts";
import { sendForm, sendNotice, wideLink } from "../views/cards.ts";
import { hidden, html, type Site } from "../views/layout.ts";

/** The members of a client's request to sign a user out. `logout_hint` and `ui_locales` are ignored. @see OpenID Connect RP-Initiated Logout §2 */
const REQUEST_MEMBERS = ["id_token_hint", "client_id", "post_logout_redirect_uri", "state"];

/** The request of a form as a query. */
function queryOf(form: Form): string {
  const sent = REQUEST_MEMBERS.map((name) => [name, form.get(name)]).filter(
    (member): member is [string, string] => member[1] !== undefined,
  );
  return new URLSearchParams(sent).toString();
}

/** Where the browser goes after the sign-out: to the client's registered URI, with its state, or to the page that confirms it. */
function addressOf({ postLogoutRedirectUri: uri }: ValidateLogoutResponse, state: string | undefined, site: Site): string {
  if (uri === undefined) return site.path("/logout");
  return state === undefined ? uri : redirectWith(uri, { state });
}

/**
 * GET /logout asks, POST /logout ends the session, or with `everywhere` all of the user's sessions. A client that sends an ID token of the
 * signed-in user skips the question and may have the browser redirected back. Errors in its request are shown, never redirected.
 * @see OpenID Connect RP-Initiated Logout
 */
export function signOutPage(kit: PageKit): { readonly GET: Handler; readonly POST: Handler } {
  const { ports, cookies, site } = kit;

  async function endSession(ctx: FrontContext, signedIn: SignedIn | undefined, everywhere: boolean): Promise<void> {
    if (signedIn && everywhere) await signOutEverywhere(signedIn.user.id, ports.sessions, callerOf(ctx));
    else if (signedIn) await signOutHere(signedIn.session.id, signedIn.user.id, ports.sessions, callerOf(ctx));
    cookies.endSession(ctx);
  }

  /** @returns undefined for an invalid request */
  async function validated(ctx: FrontContext, idTokenHint: string, request: Form): Promise<ValidateLogoutResponse | undefined> {
    const named = { clientId: request.get("client_id"), postLogoutRedirectUri: request.get("post_logout_redirect_uri") };
    try {
      return await ports.core.validateLogout({ idTokenHint, ...named }, { signal: ctx.state.signal });
    } catch (error) {
      if (isRefusal(error) && error.code === "invalid_request") return undefined;
      throw error;
    }
  }

  const confirm = (ctx: FrontContext, status?: number): void =>
    sendNotice(
      ctx,
      site,
      "good",
      ({ signOut: { signedOut } }) => ({ ...signedOut, more: wideLink(site.path("/login"), signedOut.signIn) }),
      status,
    );

  /** Asks before signing out: a link on another site must not sign the user out. */
  function ask(ctx: FrontContext, { user }: SignedIn): void {
    const members = hidden(accountToken(kit, ctx, user));
    sendForm(ctx, site, {}, ({ signOut: { title, question, signedInAs, accessStays, submit, stay } }) => ({
      title,
      heading: question,
      lead: html`${signedInAs} <strong>${user.email}</strong>. ${accessStays}`,
      action: site.path("/logout"),
      members,
      submit,
      below: html`<a href="${site.path("/account")}">${stay}</a>`,
    }));
  }

  /** After a request of an application that cannot be verified: the user stays signed in and is not redirected. */
  function refuse(ctx: FrontContext): void {
    const words = ({ signOut: { badRequest } }: Texts) => ({ ...badRequest, more: wideLink(site.path("/logout"), badRequest.signOut) });
    sendNotice(ctx, site, "bad", words, 400);
  }

  return {
    GET: exceptHead(async (ctx) => {
      const request = queryForm(ctx);
      const idTokenHint = request.get("id_token_hint");
      const signedIn = await signedInTo(kit, ctx);
      if (idTokenHint === undefined) return signedIn ? ask(ctx, signedIn) : confirm(ctx);
      const hint = await validated(ctx, idTokenHint, request);
      if (hint === undefined) return signedIn ? refuse(ctx) : confirm(ctx, 400);
      if (signedIn && signedIn.user.id !== hint.hintedSub) return ask(ctx, signedIn);
      await endSession(ctx, signedIn, false);
      sendRedirect(ctx, addressOf(hint, request.get("state"), site));
    }),
    async POST(ctx) {
      const form = await formBody(ctx);
      // A form without a token comes from an application. A browser sends no session cookie with a form of another site, but with a GET of
      // this site (SameSite=Lax).
      if (form.get(FORM_TOKEN) === undefined && form.get("everywhere") === undefined)
        return sendRedirect(ctx, `${site.path("/logout")}?${queryOf(form)}`);
      await endSession(ctx, await senderOfForm(kit, ctx, form), form.get("everywhere") === "yes");
      sendRedirect(ctx, site.path("/logout"));
    },
  };
}
