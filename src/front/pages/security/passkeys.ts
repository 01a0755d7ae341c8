import { addPasskey, passkeyCreationOptions, removePasskey, renamePasskey } from "../../../accounts/authenticators/passkey.ts";
import type { SignedIn } from "../../../accounts/ports.ts";
import { Refusal } from "../../../errors.ts";
import type { Form } from "../../../protocol/form.ts";
import { donePath } from "../../done.ts";
import { sendJson, sendRedirect } from "../../http/answers.ts";
import { isFresh, provedForm } from "../fresh-proof.ts";
import { accountForm, destinationOf, failedForm, goneAfter, returnToOf, type Visit } from "../kit.ts";
import { showSetUp } from "../set-up/page.ts";
import type { ReturnTo, Site } from "../views/layout.ts";
import { showGone, showSecurity } from "./page.ts";

export const SECURITY = "/account/security";

/** The path of the page after a factor was set up: the waiting request goes on, if there is one. */
export const afterFactor = (site: Site, returnTo: ReturnTo, otherwise: string): string =>
  returnTo.requestId === undefined ? site.path(otherwise) : destinationOf(site, returnTo);

/**
 * POST of a form about ways to sign in. A refusal that the user can correct is shown on the page.
 * @param next the path after it
 */
export const factorForm = (
  next: (visit: Visit, returnTo: ReturnTo) => string,
  act: (visit: Visit, form: Form, signedIn: SignedIn) => Promise<void>,
) =>
  provedForm(
    async (visit, form, signedIn) => {
      await act(visit, form, signedIn);
      sendRedirect(visit.ctx, next(visit, returnToOf(visit.site, form)));
      return undefined;
    },
    (visit, signedIn, error, form) => {
      const [returnTo, failed] = [returnToOf(visit.site, form), failedForm(visit, error, [])];
      return returnTo.requestId === undefined ? showSecurity(visit, signedIn, failed) : showSetUp(visit, returnTo, failed);
    },
  );

/** POST /account/security/passkeys/options: a challenge for the script of the page. */
export const newPasskeyOptions = accountForm(async (visit, _form, signedIn) => {
  const { ports, cookies } = visit;
  if (ports.relyingParty === undefined) throw new Refusal("not_found", "passkeys_unavailable");
  if (!isFresh(signedIn)) throw new Refusal("forbidden", "proof_too_old");
  sendJson(visit.ctx, await passkeyCreationOptions(signedIn.user, ports.relyingParty, cookies.browser(visit.ctx), ports));
});

/** POST /account/security/passkeys: the passkey that a browser has made. */
export const newPasskeyPage = factorForm(
  (visit, returnTo) => afterFactor(visit.site, returnTo, donePath(visit, SECURITY, "passkey")),
  async (visit, form, signedIn) => {
    const proof = { response: form.get("response") ?? "", browser: visit.cookies.browser(visit.ctx) };
    await addPasskey(signedIn, form.get("name") ?? "", proof, visit.ports, visit.caller);
  },
);

export const renamePasskeyPage = accountForm(async (visit, form, { user }) => {
  await renamePasskey(form.get("passkey") ?? "", user, form.get("name") ?? "", visit.ports, visit.caller);
  return donePath(visit, SECURITY, "renamed");
}, showGone("passkeyGone"));

export const removePasskeyPage = factorForm(
  (visit) => visit.site.path(donePath(visit, SECURITY, "removed")),
  (visit, form, signedIn) => goneAfter(removePasskey(form.get("passkey") ?? "", signedIn, visit.ports, visit.caller)),
);
