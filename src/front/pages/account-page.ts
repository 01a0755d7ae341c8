import type { SignedIn } from "../../accounts/ports.ts";
import { isRefusal } from "../../errors.ts";
import type { Form } from "../../protocol/form.ts";
import { formBody } from "../http/body.ts";
import { sendRedirect } from "../http/headers.ts";
import { type FrontContext, type Handler, pathText } from "../http/routes.ts";
import { signInFor } from "./account-frame.ts";
import { type PageKit, queryMember, signedInTo } from "./kit.ts";

/** The purpose of the token in every form of the account pages. */
export const ACCOUNT_PURPOSE = "account";

/** What every account page needs besides its content. */
export interface AccountPage {
  readonly signedIn: SignedIn;
  /** Of every form on the page. */
  readonly token: string;
  /** What was just done, from the redirect after a form. Untrusted: only known values may be shown. */
  readonly done: string | undefined;
}

/** GET of an account page; a user who is not signed in is redirected to sign in, and returns. */
export const accountPageHandler =
  (kit: PageKit, show: (ctx: FrontContext, page: AccountPage) => Promise<void> | void): Handler =>
  async (ctx) => {
    const signedIn = await signedInTo(kit, ctx);
    if (!signedIn) return sendRedirect(ctx, signInFor(kit.site, pathText(ctx)), 302);
    await show(ctx, { signedIn, token: kit.guard.token(ctx, ACCOUNT_PURPOSE), done: queryMember(ctx, "done") });
  };

/** Ignores `not_found` of a removal: the first of two clicks may have removed it. */
export async function goneAfter(ending: Promise<void>): Promise<void> {
  try {
    await ending;
  } catch (error) {
    if (!isRefusal(error) || error.code !== "not_found") throw error;
  }
}

/**
 * POST of a form of an account page. `act` returns the path to redirect to, such as `/account?done=revoked`, or undefined when it has
 * answered. A form of another site is refused before anything is looked up.
 */
export const accountForm =
  (kit: PageKit, act: (ctx: FrontContext, form: Form, signedIn: SignedIn) => Promise<string | undefined>): Handler =>
  async (ctx) => {
    const form = await formBody(ctx);
    kit.guard.assert(ctx, form, ACCOUNT_PURPOSE);
    const signedIn = await signedInTo(kit, ctx);
    if (!signedIn) return sendRedirect(ctx, signInFor(kit.site, pathText(ctx)), 303);
    const next = await act(ctx, form, signedIn);
    if (next !== undefined) sendRedirect(ctx, kit.site.path(next), 303);
  };
