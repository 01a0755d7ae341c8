import { sendRedirect } from "../../http/answers.ts";
import { pathText } from "../../http/routes.ts";
import { refuseRequest } from "../../oauth/authorize.ts";
import { answerRequest, extendRequest, NOTHING_ASKED, openRequest } from "../../oauth/pending-request.ts";
import { isFresh, proofPath } from "../fresh-proof.ts";
import {
  accountForm,
  accountToken,
  destinationOf,
  doneOf,
  type FormHandlers,
  queryForm,
  returnToOf,
  signedInTo,
  signInFor,
  unreachedByRealm,
  type Visit,
  validRequest,
} from "../kit.ts";
import { appOverFaults } from "../security/page.ts";
import { passkeyForm, passkeyHead } from "../views/cards.ts";
import { type FailedForm, faultSummary, hidden, html, type ReturnTo, sendPage } from "../views/layout.ts";
import { ACCOUNT_START } from "../views/sections.ts";
import { clientLine, shownClient } from "../views/words.ts";

/**
 * What is missing for a user to go on, and the request that waits for it, if there is one.
 * @returns undefined when nothing is missing, and the response is a redirect to where the user was going
 */
async function missingFactor(visit: Visit, returnTo: ReturnTo) {
  const { ports, site } = visit;
  const signedIn = await signedInTo(visit);
  const goOn = (path: string): undefined => void sendRedirect(visit.ctx, path);
  if (!signedIn) return goOn(signInFor(site, pathText(visit.ctx), returnTo));
  if (returnTo.requestId === undefined) {
    const needed = unreachedByRealm(signedIn.session, ports);
    return needed === undefined ? goOn(destinationOf(site, returnTo)) : { needed, signedIn, valid: undefined };
  }
  const open = await openRequest(visit, returnTo.requestId, NOTHING_ASKED, signedIn.user.id);
  const valid = await validRequest(visit, open, signedIn);
  if (!valid) return undefined;
  if (valid.step.kind !== "set_up") return goOn(destinationOf(site, returnTo));
  await extendRequest(visit, open);
  return { needed: valid.step.needed, signedIn, valid: { ...valid, open } };
}

/** Offers what the user has to set up before they go on, after a fresh proof. */
export async function showSetUp(visit: Visit, returnTo: ReturnTo, failed: FailedForm = {}): Promise<void> {
  const { ports, site, language } = visit;
  const { faults = [], status } = failed;
  const missing = await missingFactor(visit, returnTo);
  if (missing === undefined) return;
  const { needed, signedIn, valid } = missing;
  if (!isFresh(signedIn)) return sendRedirect(visit.ctx, proofPath(site, pathText(visit.ctx), returnTo));
  const { setUp: texts, signIn, security, authenticatorApp, words } = visit.texts;
  const passkeys = ports.relyingParty !== undefined;
  const client = valid && shownClient(language, valid.authorization, valid.request.redirectUri ?? "");
  const members = hidden(accountToken(visit, signedIn.user), returnTo);
  const content = html`<section class="card">
<h1>${texts.title}</h1>
${client && html`<p class="lead">${signIn.toContinueTo} ${clientLine(language, client)}</p>`}
<p class="lead">${texts.needed[needed]}</p>
${faultSummary(language, faults)}
${
  passkeys &&
  html`${passkeyForm(site, {
    ...{ kind: "add", path: "/account/security/passkeys", members, quiet: false },
    ...{ submit: words.addPasskey, failure: security.passkeyAddFailed, known: security.passkeyKnown },
  })}
<noscript><p class="small">${security.passkeyNeedsScripts}</p></noscript>`
}
${
  needed === "mfa" &&
  ports.box.usable() &&
  html`<form method="post" action="${site.path("/account/security/app/begin")}" class="stack">
${members}
<button class="button button-wide${passkeys && html` button-quiet`}" type="submit">${authenticatorApp.setUp}</button>
</form>`
}
<form method="post" action="${site.path("/login/set-up")}" class="stack">
${members}
<button class="button button-quiet button-wide" type="submit" name="later" value="yes">${words.notNow}</button>
</form>
</section>`;
  sendPage(visit, { title: texts.title, faults, head: passkeys && passkeyHead(site), content }, status);
}

/** GET /login/set-up: what the user has to set up first. POST, not now: the application gets the reason, other users go on. */
export const setUpPage: FormHandlers = {
  GET: (visit) => showSetUp(visit, returnToOf(visit.site, queryForm(visit)), { faults: appOverFaults(visit, doneOf(visit)) }),
  POST: accountForm(async (visit, form, { user }) => {
    const returnTo = returnToOf(visit.site, form);
    if (returnTo.requestId === undefined) return returnTo.next ?? ACCOUNT_START;
    const valid = (await missingFactor(visit, returnTo))?.valid;
    if (valid === undefined) return undefined;
    await answerRequest(visit, valid.open, NOTHING_ASKED, user.id);
    const description = "The user has no sign-in method of this strength.";
    refuseRequest(visit, valid.request, "unmet_authentication_requirements", description);
  }),
};
