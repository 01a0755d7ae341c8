import { closeAccount } from "../../../accounts/account.ts";
import type { User } from "../../../accounts/ports.ts";
import { hasSignUp } from "../../../accounts/sign-up-policy.ts";
import { callerOf } from "../../http/address.ts";
import { sendRedirect } from "../../http/headers.ts";
import { languageOf } from "../../http/language.ts";
import type { FrontContext, Handler } from "../../http/routes.ts";
import { provedForm, provedPage } from "../fresh-proof.ts";
import { ACCOUNT_PURPOSE, failedForm, type PageKit, signedInTo } from "../kit.ts";
import { type FailedForm, sendPage } from "../views/layout.ts";
import { accountGoneView, deleteAccountView } from "./view.ts";

/** GET /account/delete says what would happen, POST /account/delete does it, both after a fresh proof. */
export function deleteAccountPage(kit: PageKit): { readonly GET: Handler; readonly POST: Handler } {
  const { ports, guard, site, cookies } = kit;

  async function show(ctx: FrontContext, user: User, { faults = [], status }: FailedForm = {}): Promise<void> {
    const clients = (await ports.clients.ofOwner(user.id)).map(({ name }) => name);
    sendPage(ctx, deleteAccountView(site, languageOf(ctx), { token: guard.token(ctx, ACCOUNT_PURPOSE), clients, faults }), status);
  }

  return {
    GET: provedPage(kit, (ctx, { signedIn }) => show(ctx, signedIn.user)),
    POST: provedForm(kit, async (ctx, _form, signedIn) => {
      try {
        await closeAccount(signedIn, ports, callerOf(ctx));
        cookies.endSession(ctx);
        return "/account/deleted";
      } catch (error) {
        await show(ctx, signedIn.user, failedForm(ctx, error, []));
      }
    }),
  };
}

/** GET /account/deleted: the account is gone. A link that leads a signed-in user here must not say so of theirs. */
export const accountGonePage =
  (kit: PageKit): Handler =>
  async (ctx) => {
    const { site, ports } = kit;
    if ((await signedInTo(kit, ctx)) !== undefined) return sendRedirect(ctx, site.path("/account"));
    sendPage(ctx, accountGoneView(site, languageOf(ctx), hasSignUp(ports.signUpPolicy)));
  };
