import { closeAccount } from "../../../accounts/account.ts";
import { CURRENT_PASSWORD } from "../../../accounts/authenticators/password.ts";
import type { User } from "../../../accounts/ports.ts";
import { assertShape, ClosingBody } from "../../auth/shapes.ts";
import { callerOf } from "../../http/address.ts";
import type { FrontContext, Handler } from "../../http/routes.ts";
import { languageOf } from "../../texts/language.ts";
import { ACCOUNT_PURPOSE, accountForm, accountPageHandler, failedForm, type PageKit } from "../kit.ts";
import { type Fault, sendPage } from "../views/layout.ts";
import { accountGoneView, deleteAccountView } from "./view.ts";

/** GET /account/delete says what would happen, POST /account/delete does it, with the password. */
export function deleteAccountPage(kit: PageKit): { readonly GET: Handler; readonly POST: Handler } {
  const { ports, guard, site, cookies } = kit;

  async function show(ctx: FrontContext, user: User, faults: readonly Fault[], status = 200): Promise<void> {
    const clients = (await ports.clients.ofOwner(user.id)).map(({ name }) => name);
    sendPage(ctx, deleteAccountView(site, languageOf(ctx), { token: guard.token(ctx, ACCOUNT_PURPOSE), clients, faults }), status);
  }

  return {
    GET: accountPageHandler(kit, (ctx, { signedIn }) => show(ctx, signedIn.user, [])),
    POST: accountForm(kit, async (ctx, form, { user }) => {
      try {
        const { currentPassword } = assertShape(ClosingBody, { currentPassword: form.get(CURRENT_PASSWORD) ?? "" });
        await closeAccount(user, currentPassword, ports, callerOf(ctx));
      } catch (error) {
        const { faults, status } = failedForm(ctx, error, [CURRENT_PASSWORD]);
        await show(ctx, user, faults, status);
        return undefined;
      }
      cookies.endSession(ctx);
      return "/account/deleted";
    }),
  };
}

/** GET /account/deleted: the account is gone. */
export const accountGonePage =
  ({ site }: PageKit): Handler =>
  (ctx) =>
    sendPage(ctx, accountGoneView(site, languageOf(ctx)));
