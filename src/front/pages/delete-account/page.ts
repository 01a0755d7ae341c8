import { closeAccount } from "../../../accounts/account.ts";
import type { User } from "../../../accounts/ports.ts";
import { hasSignUp } from "../../../accounts/sign-up-policy.ts";
import { donePath } from "../../done.ts";
import { callerOf } from "../../http/address.ts";
import { sendRedirect } from "../../http/headers.ts";
import { languageOf } from "../../http/language.ts";
import type { FrontContext, Handler } from "../../http/routes.ts";
import { provedForm, provedPage } from "../fresh-proof.ts";
import { ACCOUNT_PURPOSE, doneOf, failedForm, type PageKit, signedInTo } from "../kit.ts";
import { type FailedForm, sendPage } from "../views/layout.ts";
import { accountGoneView, deleteAccountView } from "./view.ts";

const DELETED = "deleted";

/** GET /account/delete says what would happen, POST /account/delete does it, both after a fresh proof. */
export function deleteAccountPage(kit: PageKit): { readonly GET: Handler; readonly POST: Handler } {
  const { ports, guard, site, cookies } = kit;

  async function show(ctx: FrontContext, user: User, { faults = [], status }: FailedForm = {}): Promise<void> {
    const clients = (await ports.clients.ofOwner(user.id)).map(({ name }) => name);
    const page = { token: guard.token(ctx, ACCOUNT_PURPOSE), email: user.email, clients, faults };
    sendPage(ctx, deleteAccountView(site, languageOf(ctx), page), status);
  }

  return {
    GET: provedPage(kit, (ctx, { signedIn }) => show(ctx, signedIn.user)),
    POST: provedForm(kit, async (ctx, _form, signedIn) => {
      try {
        await closeAccount(signedIn, ports, callerOf(ctx));
        cookies.endSession(ctx);
        return donePath(kit, ctx, "/account/deleted", DELETED);
      } catch (error) {
        await show(ctx, signedIn.user, failedForm(ctx, error, []));
      }
    }),
  };
}

/** GET /account/deleted: the account is gone. It says so where it was deleted, and not to a user who has signed in since. */
export const accountGonePage =
  (kit: PageKit): Handler =>
  async (ctx) => {
    const { site, ports } = kit;
    if (doneOf(kit, ctx) !== DELETED || (await signedInTo(kit, ctx)) !== undefined) return sendRedirect(ctx, site.path("/account"));
    sendPage(ctx, accountGoneView(site, languageOf(ctx), hasSignUp(ports.signUpPolicy)));
  };
