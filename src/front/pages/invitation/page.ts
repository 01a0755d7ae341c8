import { acceptInvitation, FIRST_OPERATOR_MINUTES, INVITATION_UNUSABLE, invitationOf } from "../../../accounts/invitations.ts";
import { isHalf, type NewSession, signIn, signInNewcomer } from "../../../accounts/sign-in.ts";
import { isRefusal, type RefusalCode } from "../../../errors.ts";
import type { Texts } from "../../../texts/languages.ts";
import { assertShape, InvitationBody } from "../../auth/shapes.ts";
import { donePath } from "../../done.ts";
import { sendRedirect } from "../../http/answers.ts";
import { formBody } from "../../http/body.ts";
import { callerOf } from "../../http/caller.ts";
import type { FrontContext, Handler } from "../../http/routes.ts";
import { browserCaller, browserToken, failedAccountForm, type PageKit, queryMember, startBrowserSession } from "../kit.ts";
import { sendForm, sendNotice, wideLink } from "../views/cards.ts";
import { type FailedForm, hidden, html, type Site } from "../views/layout.ts";
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

  const sendStale = (ctx: FrontContext): void => {
    const words = ({ invitation: { stale } }: Texts) => ({
      title: stale.title,
      text: isSetup ? stale.setup(FIRST_OPERATOR_MINUTES) : stale.invited(site.host),
      more: wideLink(site.path("/login"), stale.signIn),
    });
    sendNotice(ctx, site, "bad", words, 400);
  };

  async function show(ctx: FrontContext, link: string, typed?: string, failed: FailedForm = {}): Promise<void> {
    try {
      const { email } = await invitationOf(link, ports);
      if ((email === null) !== isSetup) return sendStale(ctx);
      if (email !== null && (await ports.users.byEmail(email)) !== undefined) return sendHasAccount(ctx, site, email);
      const members = html`${hidden(browserToken(kit, ctx, PURPOSE))}<input type="hidden" name="token" value="${link}">`;
      sendForm(ctx, site, failed, (texts) => ({ ...invitationCard(site, texts, email, typed), action: site.path(path), members }));
    } catch (error) {
      if (!isRefusal(error) || error.reason !== INVITATION_UNUSABLE) throw error;
      sendStale(ctx);
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

/** @param invited the invited address; null for the first operator, who types one */
function invitationCard(site: Site, { invitation: texts, signUp }: Texts, invited: string | null, typed: string | undefined) {
  const { title, lead } = invited === null ? texts.setup : texts.invited;
  const [email, password] = [
    { name: "email", label: texts.email, type: "email", autocomplete: "username", value: invited ?? typed, autofocus: invited === null },
    { name: "password", label: texts.password, type: "password", autocomplete: "new-password", hint: texts.passwordHint },
  ] as const;
  return {
    title,
    lead: lead(site.host),
    fields: [email, { ...password, autofocus: invited !== null }],
    submit: texts.submit,
    below: invited !== null && html`${signUp.haveAccount} <a href="${site.path("/login")}">${signUp.signIn}</a>`,
  };
}

function sendHasAccount(ctx: FrontContext, site: Site, email: string): void {
  const words = ({ invitation: { hasAccount } }: Texts) => ({
    title: hasAccount.title,
    text: hasAccount.text(email),
    more: html`${wideLink(site.path("/login"), hasAccount.signIn)}<p class="small"><a href="${site.path("/forgot")}">${hasAccount.forgotten}</a></p>`,
  });
  sendNotice(ctx, site, "plain", words, 409);
}
