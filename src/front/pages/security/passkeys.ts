import { addPasskey, passkeyCreationOptions, removePasskey, renamePasskey } from "../../../accounts/authenticators/passkey.ts";
import type { SignedIn } from "../../../accounts/ports.ts";
import { Refusal } from "../../../errors.ts";
import type { Form } from "../../../protocol/form.ts";
import { donePath } from "../../done.ts";
import { sendJson, sendRedirect } from "../../http/answers.ts";
import { callerOf } from "../../http/caller.ts";
import type { FrontContext, Handler } from "../../http/routes.ts";
import { browserSecret } from "../../oauth/pending-request.ts";
import { isFresh, provedForm } from "../fresh-proof.ts";
import { accountForm, destinationOf, failedForm, goneAfter, type PageKit, returnToOf } from "../kit.ts";
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
  kit: PageKit,
  next: (ctx: FrontContext, returnTo: ReturnTo) => string,
  act: (ctx: FrontContext, form: Form, signedIn: SignedIn) => Promise<void>,
): Handler =>
  provedForm(kit, async (ctx, form, signedIn) => {
    const returnTo = returnToOf(kit.site, form);
    try {
      await act(ctx, form, signedIn);
      sendRedirect(ctx, next(ctx, returnTo));
    } catch (error) {
      const failed = failedForm(ctx, error, []);
      if (returnTo.requestId === undefined) await showSecurity(kit, ctx, signedIn, failed);
      else await showSetUp(kit, ctx, returnTo, failed);
    }
  });

/** POST /account/security/passkeys/options: a challenge for the script of the page. */
export const newPasskeyOptions = (kit: PageKit): Handler =>
  accountForm(kit, async (ctx, _form, signedIn) => {
    const { ports, cookies } = kit;
    if (ports.relyingParty === undefined) throw new Refusal("not_found", "passkeys_unavailable");
    if (!isFresh(signedIn)) throw new Refusal("forbidden", "proof_too_old");
    const browser = browserSecret(ctx, cookies, ports.randomBytes);
    sendJson(ctx, await passkeyCreationOptions(signedIn.user, ports.relyingParty, browser, ports));
  });

/** POST /account/security/passkeys: the passkey that a browser has made. */
export const newPasskeyPage = (kit: PageKit): Handler =>
  factorForm(
    kit,
    (ctx, returnTo) => afterFactor(kit.site, returnTo, donePath(kit, ctx, SECURITY, "passkey")),
    async (ctx, form, signedIn) => {
      const proof = { response: form.get("response") ?? "", browser: browserSecret(ctx, kit.cookies, kit.ports.randomBytes) };
      await addPasskey(signedIn, form.get("name") ?? "", proof, kit.ports, callerOf(ctx));
    },
  );

export const renamePasskeyPage = (kit: PageKit): Handler =>
  accountForm(kit, async (ctx, form, signedIn) => {
    try {
      await renamePasskey(form.get("passkey") ?? "", signedIn.user, form.get("name") ?? "", kit.ports, callerOf(ctx));
      return donePath(kit, ctx, SECURITY, "renamed");
    } catch (error) {
      return showGone(kit, ctx, signedIn, error, "passkeyGone");
    }
  });

export const removePasskeyPage = (kit: PageKit): Handler =>
  factorForm(
    kit,
    (ctx) => kit.site.path(donePath(kit, ctx, SECURITY, "removed")),
    (ctx, form, signedIn) => goneAfter(removePasskey(form.get("passkey") ?? "", signedIn, kit.ports, callerOf(ctx))),
  );
