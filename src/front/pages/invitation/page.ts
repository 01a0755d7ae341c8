import { acceptInvitation, FIRST_OPERATOR_MINUTES, INVITATION_UNUSABLE, invitationOf } from "../../../accounts/invitations.ts";
import { isHalf, type NewSession, signIn, signInNewcomer } from "../../../accounts/sign-in.ts";
import { isRefusal, type RefusalCode } from "../../../errors.ts";
import { type Language, TEXTS } from "../../../texts/languages.ts";
import { assertShape, InvitationBody } from "../../auth/shapes.ts";
import { donePath } from "../../done.ts";
import { callerOf } from "../../http/address.ts";
import { formBody } from "../../http/body.ts";
import { sendRedirect } from "../../http/headers.ts";
import { languageOf } from "../../http/language.ts";
import type { FrontContext, Handler } from "../../http/routes.ts";
import { browserCaller, browserToken, failedAccountForm, type PageKit, queryMember, startBrowserSession } from "../kit.ts";
import { formView, noticeView, wideLink } from "../views/cards.ts";
import { type FailedForm, type FormPage, type HostedPage, hidden, html, type Site, sendPage } from "../views/layout.ts";
import { ACCOUNT_START, SET_UP_DONE } from "../views/sections.ts";

const PURPOSE = "invitation";
const MUST_WAIT: readonly RefusalCode[] = ["too_many_requests", "temporarily_unavailable"];

/**
 * GET and POST of a page that opens an account by a link: /invitation for an invited address, /setup for the first operator, who types
 * one. Opening the page does not use up the link.
 */
export function invitationPage(kit: PageKit, path: "/invitation" | "/setup"): { readonly GET: Handler; readonly POST: Handler } {
  const { ports, guard, site } = kit;
  const isSetup = path === "/setup";

  async function show(ctx: FrontContext, link: string, typed?: string, { faults = [], status }: FailedForm = {}): Promise<void> {
    try {
      const { email } = await invitationOf(link, ports);
      if ((email === null) !== isSetup) return sendPage(ctx, staleInvitationView(site, languageOf(ctx), isSetup), 400);
      if (email !== null && (await ports.users.byEmail(email)) !== undefined)
        return sendPage(ctx, hasAccountView(site, languageOf(ctx), email), 409);
      const page = { path, link, token: browserToken(kit, ctx, PURPOSE), invited: email ?? undefined, email: email ?? typed, faults };
      sendPage(ctx, invitationView(site, languageOf(ctx), page), status);
    } catch (error) {
      if (!isRefusal(error) || error.reason !== INVITATION_UNUSABLE) throw error;
      sendPage(ctx, staleInvitationView(site, languageOf(ctx), isSetup), 400);
    }
  }

  /**
   * A form that is sent twice signs in to the account that it has opened the first time.
   * @throws {Refusal} too_many_requests, temporarily_unavailable: the user has to wait, the link is not at fault
   */
  async function opened(ctx: FrontContext, email: string, password: string): Promise<NewSession | undefined> {
    try {
      const outcome = await signIn({ email, password }, ports, browserCaller(kit, ctx));
      return isHalf(outcome) ? undefined : outcome;
    } catch (error) {
      if (!isRefusal(error) || MUST_WAIT.includes(error.code)) throw error;
      return undefined;
    }
  }

  return {
    GET: (ctx) => show(ctx, queryMember(ctx, "token") ?? ""),
    async POST(ctx) {
      const form = await formBody(ctx);
      guard.assert(ctx, form, PURPOSE);
      const [link, email, password] = [form.get("token") ?? "", form.get("email") ?? "", form.get("password") ?? ""];
      try {
        const { token, ...newcomer } = assertShape(InvitationBody, { token: link, email, password });
        const user = await acceptInvitation(token, newcomer, ports, callerOf(ctx));
        const session = await signInNewcomer({ user, generation: 0 }, "invitation", ports, browserCaller(kit, ctx));
        await startBrowserSession(kit, ctx, session);
      } catch (error) {
        const isUsed = isRefusal(error) && error.reason === INVITATION_UNUSABLE;
        const session = isUsed ? await opened(ctx, email, password) : undefined;
        if (session === undefined) return show(ctx, link, email, await failedAccountForm(ctx, error, form));
        await startBrowserSession(kit, ctx, session);
      }
      sendRedirect(ctx, site.path(isSetup ? donePath(kit, ctx, ACCOUNT_START, SET_UP_DONE) : ACCOUNT_START));
    },
  };
}

interface InvitationPage extends Omit<FormPage, "returnTo"> {
  readonly path: "/invitation" | "/setup";
  /** The token of the link. */
  readonly link: string;
  /** The invited address; undefined for the first operator, who types one. */
  readonly invited: string | undefined;
}

function invitationView(site: Site, language: Language, { path, link, token, invited, email, faults }: InvitationPage): HostedPage {
  const { invitation: texts, signUp } = TEXTS[language];
  const { title, lead } = invited === undefined ? texts.setup : texts.invited;
  return formView(site, language, {
    title,
    lead: lead(site.host),
    action: site.path(path),
    members: html`${hidden(token)}<input type="hidden" name="token" value="${link}">`,
    fields: [
      { name: "email", label: texts.email, type: "email", autocomplete: "username", value: email, autofocus: invited === undefined },
      {
        name: "password",
        label: texts.password,
        type: "password",
        autocomplete: "new-password",
        hint: texts.passwordHint,
        autofocus: invited !== undefined,
      },
    ],
    faults,
    submit: texts.submit,
    below: invited !== undefined && html`${signUp.haveAccount} <a href="${site.path("/login")}">${signUp.signIn}</a>`,
  });
}

function hasAccountView(site: Site, language: Language, email: string): HostedPage {
  const { title, text, signIn, forgotten } = TEXTS[language].invitation.hasAccount;
  const more = html`${wideLink(site.path("/login"), signIn)}<p class="small"><a href="${site.path("/forgot")}">${forgotten}</a></p>`;
  return noticeView(site, language, { tone: "plain", title, text: text(email), more });
}

function staleInvitationView(site: Site, language: Language, isSetup: boolean): HostedPage {
  const { title, setup, invited, signIn } = TEXTS[language].invitation.stale;
  const text = isSetup ? setup(FIRST_OPERATOR_MINUTES) : invited(site.host);
  return noticeView(site, language, { tone: "bad", title, text, more: wideLink(site.path("/login"), signIn) });
}
