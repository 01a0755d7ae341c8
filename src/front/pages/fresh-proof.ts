import type { SignedIn } from "../../accounts/ports.ts";
import { isAsStrong, TWO_FACTOR_ACR } from "../../protocol/authentication-context.ts";
import type { Form } from "../../protocol/form.ts";
import { sendRedirect } from "../http/answers.ts";
import { pathText } from "../http/routes.ts";
import {
  accountForm,
  accountPageHandler,
  type FormAct,
  type FormHandlers,
  type FormRefused,
  failedForm,
  type PageHandler,
  queryForm,
  returnToOf,
  signInFor,
  type Visit,
} from "./kit.ts";
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

/** POST of a form that needs one. Nothing is done, and the user returns to the section, where the form is opened again. */
export const provedForm = (act: FormAct, refused?: FormRefused): PageHandler =>
  accountForm(async (visit, form, signedIn) => {
    if (isFresh(signedIn)) return act(visit, form, signedIn);
    const path = pathText(visit.ctx);
    // Pages that are opened with a fresh proof have fields, and what was typed there is lost.
    const late = PROVED_PAGES.includes(path) ? `&${TOO_LATE}=yes` : "";
    sendRedirect(visit.ctx, proofPath(visit.site, path, returnToOf(visit.site, form), late));
  }, refused);

/**
 * GET and POST of a page with such a form. Both ask for the proof, and return to the section, or to the waiting request. A refusal that the user
 * can correct shows the form again.
 * @param fields that may be at fault  @param show gets the form that failed  @param act as of accountForm
 */
export const provedFormPage = (
  fields: readonly string[],
  show: (visit: Visit, signedIn: SignedIn, failed: FailedForm, form?: Form) => Promise<void> | void,
  act: FormAct,
): FormHandlers => ({
  GET: accountPageHandler((visit, { signedIn }) => {
    if (isFresh(signedIn)) return show(visit, signedIn, {});
    sendRedirect(visit.ctx, proofPath(visit.site, pathText(visit.ctx), returnToOf(visit.site, queryForm(visit))));
  }),
  POST: provedForm(act, (visit, signedIn, error, form) => show(visit, signedIn, failedForm(visit, error, fields), form)),
});
