import type { SignedIn } from "../../accounts/ports.ts";
import { isAsStrong, TWO_FACTOR_ACR } from "../../protocol/authentication-context.ts";
import type { Form } from "../../protocol/form.ts";
import { sendRedirect } from "../http/answers.ts";
import { type FrontContext, type Handler, pathText } from "../http/routes.ts";
import { accountForm, accountPageHandler, failedForm, type PageKit, queryForm, returnToOf, signInFor } from "./kit.ts";
import type { AccountPage } from "./views/account-frame.ts";
import type { FailedForm, ReturnTo, Site } from "./views/layout.ts";
import { PROVED_PAGES } from "./views/sections.ts";

/** Seconds for which a proof lets a user do what could take the account from them, such as adding a way to sign in. */
const FRESH = 300;

/** Asks a user who is signed in to prove again that it is them. */
export const PROVE_AGAIN = "again";

/** Says on the sign-in page that what was typed came too late. */
export const TOO_LATE = "late";

/** A user with a second factor must have proved it too: a provider that signs them in by one factor must not remove the other. */
export const isFresh = ({ session }: Pick<SignedIn, "session">): boolean =>
  session.proofAge <= FRESH && (!session.hasSecondFactor || isAsStrong(session.acr, TWO_FACTOR_ACR));

/** Whether a code of the second factor alone would make the proof a fresh one. */
export const lacksCodeOnly = ({ session }: Pick<SignedIn, "session">): boolean =>
  session.proofAge <= FRESH && session.hasSecondFactor && !isAsStrong(session.acr, TWO_FACTOR_ACR);

/** The path that asks for a fresh proof, and leads back. */
export const proofPath = (site: Site, path: string, returnTo: ReturnTo, late = ""): string =>
  signInFor(site, path, returnTo, `?${PROVE_AGAIN}=yes${late}`);

/** GET of an account page that needs a fresh proof: asks for one, and returns to the section, or to the waiting request. */
const provedPage = (kit: PageKit, show: (ctx: FrontContext, page: AccountPage) => Promise<void> | void): Handler =>
  accountPageHandler(kit, (ctx, page) => {
    if (isFresh(page.signedIn)) return show(ctx, page);
    sendRedirect(ctx, proofPath(kit.site, pathText(ctx), returnToOf(kit.site, queryForm(ctx))));
  });

/** POST of a form that needs one. Nothing is done, and the user returns to the section, where the form is opened again. */
export const provedForm = (
  kit: PageKit,
  act: (ctx: FrontContext, form: Form, signedIn: SignedIn) => Promise<string | undefined>,
): Handler =>
  accountForm(kit, async (ctx, form, signedIn) => {
    if (isFresh(signedIn)) return act(ctx, form, signedIn);
    const path = pathText(ctx);
    // Pages that are opened with a fresh proof have fields, and what was typed there is lost.
    const late = PROVED_PAGES.includes(path) ? `&${TOO_LATE}=yes` : "";
    sendRedirect(ctx, proofPath(kit.site, path, returnToOf(kit.site, form), late));
  });

/**
 * GET and POST of a page with such a form. A refusal that the user can correct shows the form again.
 * @param fields that may be at fault  @param show gets the form that failed  @param act as of accountForm
 */
export const provedFormPage = (
  kit: PageKit,
  fields: readonly string[],
  show: (ctx: FrontContext, signedIn: SignedIn, failed: FailedForm, form?: Form) => Promise<void> | void,
  act: (ctx: FrontContext, form: Form, signedIn: SignedIn) => Promise<string | undefined>,
): { readonly GET: Handler; readonly POST: Handler } => ({
  GET: provedPage(kit, (ctx, { signedIn }) => show(ctx, signedIn, {})),
  POST: provedForm(kit, async (ctx, form, signedIn) => {
    try {
      return await act(ctx, form, signedIn);
    } catch (error) {
      await show(ctx, signedIn, failedForm(ctx, error, fields), form);
      return undefined;
    }
  }),
});
