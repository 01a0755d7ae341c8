import { closeAccount } from "../../../accounts/account.ts";
import { hasSignUp } from "../../../accounts/sign-up-policy.ts";
import { donePath } from "../../done.ts";
import { sendRedirect } from "../../http/answers.ts";
import { provedFormPage } from "../fresh-proof.ts";
import { accountToken, doneOf, signedInTo, type Visit } from "../kit.ts";
import { sendAccountPage, sendNotice, wideLink } from "../views/cards.ts";
import { faultSummary, hidden, html } from "../views/layout.ts";
import { shownName } from "../views/words.ts";

const DELETED = "deleted";
/** Clients that the page names; more of them are an ellipsis. */
const SHOWN_CLIENTS = 50;

/** GET /account/delete says what would happen, POST /account/delete does it, both after a fresh proof. */
export const deleteAccountPage = provedFormPage(
  [],
  async (visit, { user }, { faults = [], status }) => {
    const { site, language } = visit;
    const { deleteAccount: texts, accountNav, words } = visit.texts;
    const { items: clients, next } = await visit.ports.clients.list({ ownerId: user.id }, { limit: SHOWN_CLIENTS });
    // The address: after the proof the account can be another one than the user came from.
    const content = html`<section class="card" aria-labelledby="what">
<h2 id="what">${texts.what}</h2>
<ul class="sentences">${texts.consequences.map((sentence) => html`<li>${sentence}</li>`)}</ul>
${
  clients.length > 0 &&
  html`<p>${texts.clients}</p>
<ul class="sentences">${clients.map(({ name }) => html`<li><bdi>${shownName(language, name)}</bdi></li>`)}${next !== null && html`<li>…</li>`}</ul>`
}
</section>
<section class="card" aria-labelledby="confirm">
<h2 id="confirm">${texts.confirm}</h2>
${faultSummary(language, faults)}
<p>${words.signedInAs} <strong>${user.email}</strong>.</p>
<form method="post" action="${site.path("/account/delete")}" class="stack" novalidate>
${hidden(accountToken(visit, user))}
<button class="button button-deny" type="submit">${texts.submit}</button>
</form>
<p class="small after-form"><a href="${site.path("/account")}">${texts.keep}</a></p>
</section>`;
    sendAccountPage(visit, { path: "/account/delete", title: accountNav.sections.deleteAccount, faults }, content, status);
  },
  async (visit, _form, signedIn) => {
    await closeAccount(signedIn, visit.ports, visit.caller);
    visit.cookies.endSession(visit.ctx);
    return donePath(visit, "/account/deleted", DELETED);
  },
);

/** GET /account/deleted: the account is gone. It says so where it was deleted, and not to a user who has signed in since. */
export const accountGonePage = async (visit: Visit) => {
  const { site, ports } = visit;
  if (doneOf(visit) !== DELETED || (await signedInTo(visit)) !== undefined) return sendRedirect(visit.ctx, site.path("/account"));
  const mayJoin = hasSignUp(ports.signUpPolicy);
  const { gone } = visit.texts.deleteAccount;
  sendNotice(visit, { tone: "good", ...gone, more: mayJoin && wideLink(site.path("/signup"), gone.signUp) });
};
