import { signOutEverywhere, signOutHere } from "../../../accounts/account.ts";
import type { SignedIn } from "../../../accounts/ports.ts";
import { isRefusal } from "../../../errors.ts";
import type { ValidateLogoutResponse } from "../../../gen/countersign/token/v1/token_pb.ts";
import { redirectWith } from "../../../protocol/authorization-request.ts";
import type { Form } from "../../../protocol/form.ts";
import { sendRedirect } from "../../http/answers.ts";
import { formBody } from "../../http/body.ts";
import { FORM_TOKEN } from "../../http/cookies.ts";
import { accountToken, type FormHandlers, queryForm, senderOfForm, signedInTo, type Visit } from "../kit.ts";
import { sendForm, sendNotice, wideLink } from "../views/cards.ts";
import { hidden, html, type Site } from "../views/layout.ts";

/** The members of a client's request to sign a user out. `logout_hint` and `ui_locales` are ignored. @see OpenID Connect RP-Initiated Logout §2 */
const REQUEST_MEMBERS = ["id_token_hint", "client_id", "post_logout_redirect_uri", "state"];

/** The members of the request that a query or form has. */
const requestIn = (form: Form): [name: string, value: string][] =>
  REQUEST_MEMBERS.flatMap((name): [string, string][] => {
    const value = form.get(name);
    return value === undefined ? [] : [[name, value]];
  });

/** Where the browser goes after the sign-out: to the client's registered URI, with its state, or to the page that confirms it. */
function addressOf({ postLogoutRedirectUri: uri }: ValidateLogoutResponse, state: string | undefined, site: Site): string {
  if (uri === undefined) return site.path("/logout");
  return state === undefined ? uri : redirectWith(uri, { state });
}

async function endSession({ ctx, ports, cookies, caller }: Visit, signedIn: SignedIn | undefined, everywhere: boolean): Promise<void> {
  if (signedIn && everywhere) await signOutEverywhere(signedIn.user.id, ports.sessions, caller);
  else if (signedIn) await signOutHere(signedIn.session.id, signedIn.user.id, ports.sessions, caller);
  cookies.endSession(ctx);
}

/** @returns undefined for an invalid request */
async function validated({ ctx, ports }: Visit, idTokenHint: string, request: Form): Promise<ValidateLogoutResponse | undefined> {
  const named = { clientId: request.get("client_id"), postLogoutRedirectUri: request.get("post_logout_redirect_uri") };
  try {
    return await ports.core.validateLogout({ idTokenHint, ...named }, { signal: ctx.state.signal });
  } catch (error) {
    if (isRefusal(error) && error.code === "invalid_request") return undefined;
    throw error;
  }
}

function confirm(visit: Visit, status?: number): void {
  const { title, text, signIn } = visit.texts.signOut.signedOut;
  sendNotice(visit, { tone: "good", title, text, more: wideLink(visit.site.path("/login"), signIn) }, status);
}

/** Asks before signing out: a link on another site must not sign the user out. @param request where the user goes afterwards */
function ask(visit: Visit, { user }: SignedIn, request: ReturnType<typeof requestIn> = []): void {
  const { question, accessStays, stay } = visit.texts.signOut;
  const { signOut, signedInAs } = visit.texts.words;
  sendForm(
    visit,
    {},
    {
      title: signOut,
      heading: question,
      lead: html`${signedInAs} <strong>${user.email}</strong>. ${accessStays}`,
      action: visit.site.path("/logout"),
      members: html`${hidden(accountToken(visit, user))}${request.map(hiddenMember)}`,
      submit: signOut,
      below: html`<a href="${visit.site.path("/account")}">${stay}</a>`,
    },
  );
}

const hiddenMember = ([name, value]: readonly [string, string]) => html`<input type="hidden" name="${name}" value="${value}">`;

/** A user who signs out does not wait until it can be verified where the application wants the browser. */
const noHint = (error: unknown): undefined => {
  if (!isRefusal(error)) throw error;
};

/** Whether an ID token was issued to this user and, if it names one, in this session. */
const isOf = ({ hintedSub, hintedSession }: ValidateLogoutResponse, { user, session }: SignedIn): boolean =>
  hintedSub === user.id && (hintedSession === undefined || hintedSession === session.id);

/** After a request of an application that cannot be verified: the user stays signed in and is not redirected. */
function refuse(visit: Visit): void {
  const { title, text, signOut } = visit.texts.signOut.badRequest;
  sendNotice(visit, { tone: "bad", title, text, more: wideLink(visit.site.path("/logout"), signOut) }, 400);
}

/**
 * GET /logout asks, POST /logout ends the session, or with `everywhere` all of the user's sessions. A client that sends an ID token may have
 * the browser redirected back, and one of the user and session that are signed in skips the question. Errors in its request are shown, never
 * redirected.
 * @see OpenID Connect RP-Initiated Logout
 */
export const signOutPage: FormHandlers = {
  async GET(visit) {
    const request = queryForm(visit);
    const idTokenHint = request.get("id_token_hint");
    const signedIn = await signedInTo(visit);
    if (idTokenHint === undefined) return signedIn ? ask(visit, signedIn) : confirm(visit);
    const hint = await validated(visit, idTokenHint, request);
    if (hint === undefined) return signedIn ? refuse(visit) : confirm(visit, 400);
    if (signedIn && !isOf(hint, signedIn)) return ask(visit, signedIn, requestIn(request));
    await endSession(visit, signedIn, false);
    sendRedirect(visit.ctx, addressOf(hint, request.get("state"), visit.site));
  },
  async POST(visit) {
    const { ctx, site } = visit;
    const form = await formBody(ctx);
    // A form without a token comes from an application. A browser sends no session cookie with a form of another site, but with a GET of
    // this site (SameSite=Lax).
    if (form.get(FORM_TOKEN) === undefined && form.get("everywhere") === undefined)
      return sendRedirect(ctx, `${site.path("/logout")}?${new URLSearchParams(requestIn(form))}`);
    const sender = await senderOfForm(visit, form);
    const idTokenHint = form.get("id_token_hint");
    const hint = idTokenHint === undefined ? undefined : await validated(visit, idTokenHint, form).catch(noHint);
    await endSession(visit, sender, form.get("everywhere") === "yes");
    sendRedirect(ctx, hint === undefined ? site.path("/logout") : addressOf(hint, form.get("state"), site));
  },
};
