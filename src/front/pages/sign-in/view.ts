import type { OfferedConnection } from "../../../upstream/connection.ts";
import { formView, passkeyForm, passkeyHead } from "../views/cards.ts";
import { type Fault, type HostedPage, hidden, html, type ReturnTo, type Writing } from "../views/layout.ts";
import { clientLine, type ShownClient } from "../views/words.ts";

export interface SignInPage {
  readonly token: string;
  readonly returnTo: ReturnTo;
  readonly email?: string | undefined;
  readonly faults: readonly Fault[];
  /** The application that waits for the user, if there is one. */
  readonly client: ShownClient | undefined;
  /** Whether a user is already signed in and has to confirm it. */
  readonly again: boolean;
  /** The class of sign-in that the waiting application needs, if the present one is too weak. */
  readonly stronger?: "mfa" | "phr" | undefined;
  /** Whether browsers can use passkeys at this address. */
  readonly passkeys: boolean;
  readonly mayJoin: boolean;
  readonly connections: readonly OfferedConnection[];
}

export function signInView(writing: Writing, page: SignInPage): HostedPage {
  const { token, returnTo, client, email, again, mayJoin, connections, passkeys, stronger } = page;
  const { site, language } = writing;
  const { signIn: texts, words } = writing.texts;
  const members = hidden(token, returnTo);
  return formView(writing, page, {
    title: again ? texts.titleAgain : words.signIn,
    lead: client && html`${texts.toContinueTo} ${clientLine(language, client)}${stronger && html`<br>${texts.stronger[stronger]}`}`,
    action: site.path("/login"),
    members,
    fields: [
      {
        name: "email",
        label: words.email,
        type: "email",
        autocomplete: passkeys ? "username webauthn" : "username",
        value: email,
        autofocus: email === undefined,
      },
      { name: "password", label: words.password, type: "password", autocomplete: "current-password", autofocus: email !== undefined },
    ],
    submit: words.signIn,
    ...(passkeys && {
      head: passkeyHead(site),
      instead: passkeyForm(site, {
        ...{ kind: "sign-in", path: "/login/passkey", members, quiet: true },
        ...{ submit: texts.passkey, failure: texts.passkeyFailed },
      }),
    }),
    after: html`<a href="${site.path("/forgot", returnTo)}">${words.forgotten}</a>`,
    others:
      connections.length > 0 &&
      html`<p class="or"><span>${texts.or}</span></p>
<ul class="ways">${connections.map(
        ({ name, title }) =>
          html`<li><a class="button button-quiet button-wide" href="${site.path(`/signin/${name}`, returnTo)}">${texts.continueWith(title)}</a></li>`,
      )}</ul>`,
    below: again || !mayJoin ? undefined : html`${texts.newHere} <a href="${site.path("/signup", returnTo)}">${words.createAccount}</a>`,
  });
}
