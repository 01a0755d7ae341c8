import { FIRST_OPERATOR_MINUTES } from "../../../accounts/invitations.ts";
import { type Language, TEXTS } from "../../../texts/languages.ts";
import { formView, noticeView, wideLink } from "../views/cards.ts";
import { type FormPage, type HostedPage, hidden, html, type Site } from "../views/layout.ts";

export interface InvitationPage extends Omit<FormPage, "returnTo"> {
  readonly path: "/invitation" | "/setup";
  /** The token of the link. */
  readonly link: string;
  /** The invited address; undefined for the first operator, who types one. */
  readonly invited: string | undefined;
}

export function invitationView(site: Site, language: Language, { path, link, token, invited, email, faults }: InvitationPage): HostedPage {
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

export function staleInvitationView(site: Site, language: Language, isSetup: boolean): HostedPage {
  const { title, setup, invited, signIn } = TEXTS[language].invitation.stale;
  const text = isSetup ? setup(FIRST_OPERATOR_MINUTES) : invited(site.host);
  return noticeView(site, language, { tone: "bad", title, text, more: wideLink(site.path("/login"), signIn) });
}
