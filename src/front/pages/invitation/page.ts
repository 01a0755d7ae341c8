import { acceptInvitation, FIRST_OPERATOR_MINUTES, INVITATION_UNUSABLE, invitationOf } from "../../../accounts/registration.ts";
import { isHalf, type NewSession, signIn, signInNewcomer } from "../../../accounts/sign-in.ts";
import { isRefusal, type RefusalCode } from "../../../errors.ts";
import { assertShape, InvitationBody } from "../../auth/shapes.ts";
import { donePath } from "../../done.ts";
import { sendRedirect } from "../../http/answers.ts";
import {
  browserCaller,
  browserToken,
  type FormHandlers,
  failedAccountForm,
  formFor,
  pathFrom,
  queryMember,
  startBrowserSession,
  type Visit,
} from "../kit.ts";
import { sendForm, sendNotice, wideLink } from "../views/cards.ts";
import { type FailedForm, hidden, html } from "../views/layout.ts";
import { ACCOUNT_START, SET_UP_DONE } from "../views/sections.ts";

const PURPOSE = "invitation";
const MUST_WAIT: readonly RefusalCode[] = ["too_many_requests", "temporarily_unavailable"];

type Path = "/invitation" | "/setup";

function sendStale(visit: Visit, path: Path): void {
  const { site } = visit;
  const { invitation, words } = visit.texts;
  const { setup, invited } = invitation.stale;
  const text = path === "/setup" ? setup(FIRST_OPERATOR_MINUTES) : invited(site.host);
  sendNotice(visit, { tone: "bad", title: words.staleLink, text, more: wideLink(site.path("/login"), words.signIn) }, 400);
}

async function show(visit: Visit, path: Path, link: string, typed?: string, failed: FailedForm = {}): Promise<void> {
  const { ports, site } = visit;
  try {
    const { email, realmId } = await invitationOf(link, ports);
    if (realmId !== null) visit.ctx.state.realmId = realmId; // the branding of the realm that the user will be in
    if ((email === null) !== (path === "/setup")) return sendStale(visit, path);
    if (email !== null && (await ports.users.byEmail(email)) !== undefined) return sendHasAccount(visit, email);
    const members = html`${hidden(browserToken(visit, PURPOSE))}<input type="hidden" name="token" value="${link}">`;
    sendForm(visit, failed, { ...invitationCard(visit, email, typed), action: site.path(path), members });
  } catch (error) {
    if (!isRefusal(error) || error.reason !== INVITATION_UNUSABLE) throw error;
    sendStale(visit, path);
  }
}

/**
 * A form that is sent twice signs in to the account that it has opened the first time.
 * @throws {Refusal} too_many_requests, temporarily_unavailable: the user has to wait, the link is not at fault
 */
async function opened(visit: Visit, email: string, password: string): Promise<NewSession | undefined> {
  try {
    const outcome = await signIn({ email, password }, visit.ports, browserCaller(visit));
    return isHalf(outcome) ? undefined : outcome;
  } catch (error) {
    if (!isRefusal(error) || MUST_WAIT.includes(error.code)) throw error;
    return undefined;
  }
}

/**
 * GET and POST of a page that opens an account by a link: /invitation for an invited address, /setup for the first operator, who types
 * one. Opening the page does not use up the link.
 */
export const invitationPage = (path: Path): FormHandlers => ({
  GET: (visit) => show(visit, path, queryMember(visit, "token") ?? ""),
  async POST(visit) {
    const { ctx, ports } = visit;
    const form = await formFor(visit, PURPOSE);
    const [link, email, password] = [form.get("token") ?? "", form.get("email") ?? "", form.get("password") ?? ""];
    const enter = async (session: NewSession) => {
      await startBrowserSession(visit, session);
      const page = path === "/setup" ? donePath(visit, ACCOUNT_START, SET_UP_DONE) : ACCOUNT_START;
      sendRedirect(ctx, pathFrom(visit, session, {}, visit.site.path(page)));
    };
    try {
      const { token, ...newcomer } = assertShape(InvitationBody, { token: link, email, password });
      const user = await acceptInvitation(token, newcomer, ports, visit.caller);
      await enter(await signInNewcomer({ user, generation: 0 }, "invitation", ports, browserCaller(visit)));
    } catch (error) {
      const isUsed = isRefusal(error) && error.reason === INVITATION_UNUSABLE;
      const session = isUsed ? await opened(visit, email, password) : undefined;
      if (session === undefined) return show(visit, path, link, email, await failedAccountForm(visit, error, form));
      await enter(session);
    }
  },
});

/** @param invited the invited address; null for the first operator, who types one */
function invitationCard({ site, texts: { invitation: texts, signUp, words } }: Visit, invited: string | null, typed: string | undefined) {
  const { title, lead } = invited === null ? texts.setup : texts.invited;
  const [email, password] = [
    { name: "email", label: words.email, type: "email", autocomplete: "username", value: invited ?? typed, autofocus: invited === null },
    { name: "password", label: words.password, type: "password", autocomplete: "new-password", hint: words.passwordHint },
  ] as const;
  return {
    title,
    lead: lead(site.host),
    fields: [email, { ...password, autofocus: invited !== null }],
    submit: texts.submit,
    below: invited !== null && html`${signUp.haveAccount} <a href="${site.path("/login")}">${words.signIn}</a>`,
  };
}

function sendHasAccount(visit: Visit, email: string): void {
  const { site } = visit;
  const { title, text } = visit.texts.invitation.hasAccount;
  const { signIn, forgotten } = visit.texts.words;
  const more = html`${wideLink(site.path("/login"), signIn)}<p class="small"><a href="${site.path("/forgot")}">${forgotten}</a></p>`;
  sendNotice(visit, { tone: "plain", title, text: text(email), more }, 409);
}
