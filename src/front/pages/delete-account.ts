import { closeAccount } from "../../accounts/closing.ts";
import { CURRENT_PASSWORD } from "../../accounts/password-proof.ts";
import type { User } from "../../accounts/ports.ts";
import { callerOf } from "../people-ports.ts";
import type { FrontContext, Handler } from "../routes.ts";
import { assertShape, ClosingBody } from "../schemas/accounts.ts";
import { languageOf } from "../texts/language.ts";
import { failedForm, faultsOf, type PageKit } from "./kit.ts";
import { OWN_PURPOSE, ownForm, ownPage } from "./own.ts";
import { sendPage } from "./send.ts";
import { accountGoneView, deleteAccountView } from "./views/delete-account.ts";
import type { Fault } from "./views/layout.ts";

/** GET /account/delete says what would happen, POST /account/delete does it, with the password. */
export function deleteAccountPage(kit: PageKit): { readonly GET: Handler; readonly POST: Handler } {
  const { ports, guard, site, cookies } = kit;

  async function show(ctx: FrontContext, user: User, faults: readonly Fault[], status = 200): Promise<void> {
    const clients = (await ports.clients.ofOwner(user.id)).map(({ name }) => name);
    sendPage(ctx, deleteAccountView(site, languageOf(ctx), { token: guard.token(ctx, OWN_PURPOSE), clients, faults }), status);
  }

  return {
    GET: ownPage(kit, (ctx, { signedIn }) => show(ctx, signedIn.user, [])),
    POST: ownForm(kit, async (ctx, form, { user }) => {
      try {
        const { currentPassword } = assertShape(ClosingBody, { currentPassword: form.get(CURRENT_PASSWORD) ?? "" });
        await closeAccount(user, currentPassword, ports, callerOf(ctx));
      } catch (error) {
        const { refusal, faults } = faultsOf(ctx, error, [CURRENT_PASSWORD]);
        await show(ctx, user, faults, failedForm(ctx, refusal));
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
