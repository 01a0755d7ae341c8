import { assertUserCode, withUserCodeBudget } from "../../../accounts/user-code-attempts.ts";
import { parseUserCode } from "../../../protocol/user-code.ts";
import { callerOf } from "../../http/address.ts";
import { formBody } from "../../http/body.ts";
import { sendRedirect } from "../../http/headers.ts";
import { languageOf } from "../../http/language.ts";
import type { FrontContext, Handler } from "../../http/routes.ts";
import { browserSecret } from "../../oauth/pending-request.ts";
import { doneOf, failedForm, type PageKit, queryMember, signedInTo } from "../kit.ts";
import { type FailedForm, sendPage } from "../views/layout.ts";
import { deviceDoneView, deviceView } from "./view.ts";

const PURPOSE = "device";

/** GET /device and POST /device: takes the code that a device shows, then continues as an application's request. @see RFC 8628 §3.3 */
export function devicePage(kit: PageKit): { readonly GET: Handler; readonly POST: Handler } {
  const { ports, guard, flow, site } = kit;
  const show = (ctx: FrontContext, userCode: string | undefined, { faults = [], status }: FailedForm = {}) =>
    sendPage(ctx, deviceView(site, languageOf(ctx), { token: guard.token(ctx, PURPOSE), userCode, faults }), status);
  return {
    GET: async (ctx) => show(ctx, queryMember(ctx, "user_code")),
    async POST(ctx) {
      const form = await formBody(ctx);
      guard.assert(ctx, form, PURPOSE);
      const userCode = form.get("user_code") ?? "";
      const find = () => ports.core.findDeviceRequest({ userCode }, { signal: ctx.state.signal });
      try {
        const entered = `${assertUserCode(parseUserCode(userCode))} ${browserSecret(ctx, kit.cookies, ports.randomBytes)}`;
        const { deviceRequest } = await withUserCodeBudget(ports.userCodeFailures, callerOf(ctx), entered, find);
        const requestId = await flow.keep(ctx, { request: { deviceRequest }, signedIn: await signedInTo(kit, ctx) });
        sendRedirect(ctx, site.path("/consent", { requestId }));
      } catch (error) {
        show(ctx, userCode, failedForm(ctx, error, ["user_code"]));
      }
    },
  };
}

/** GET /device/done: confirms the user's decision. The device gets its answer at the token endpoint. */
export const deviceDonePage =
  (kit: PageKit): Handler =>
  (ctx) => {
    const { site } = kit;
    const outcome = doneOf(kit, ctx);
    if (outcome !== "approved" && outcome !== "denied" && outcome !== "failed") return sendRedirect(ctx, site.path("/device"));
    sendPage(ctx, deviceDoneView(site, languageOf(ctx), outcome), 200);
  };
