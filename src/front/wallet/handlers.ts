import { Refusal } from "../../errors.ts";
import { type LinkingPorts, type LinkStatus, pollLink, signedRequest, startLink, takeResponse } from "../../wallet/linking.ts";
import { readResponse } from "../../wallet/query.ts";
import { signedInBy } from "../auth/consents.ts";
import { noStore, OPEN_TO_SCRIPTS, sendJson } from "../http/answers.ts";
import { formBody } from "../http/body.ts";
import { callerOf } from "../http/caller.ts";
import { API_PURPOSE, isCsrfToken } from "../http/cookies.ts";
import { exceptHead, type FrontContext } from "../http/routes.ts";
import type { PageKit } from "../pages/kit.ts";
import type { WalletHandlers } from "./routes.ts";

export type WalletKit = PageKit & { readonly linking: LinkingPorts };

export const walletHandlers = (kit: WalletKit): WalletHandlers => ({
  async start(ctx) {
    const { secret, ...signedIn } = await signedInBy(ctx, kit.ports, kit.cookies);
    if (!isCsrfToken(ctx.req.headers["x-csrf-token"], secret, API_PURPOSE)) {
      throw new Refusal("unauthenticated", "csrf_token", { description: "The header X-CSRF-Token is missing or wrong." });
    }
    const { handle, invocationUri, expiresAt } = await startLink(signedIn, false, kit.linking, callerOf(ctx));
    sendJson(ctx, { handle, invocation_uri: invocationUri, expires_at: expiresAt });
  },
  poll: exceptHead(async (ctx) => {
    const { secret: _, ...signedIn } = await signedInBy(ctx, kit.ports, kit.cookies);
    const link = await pollLink(ctx.params.handle ?? "", signedIn, kit.linking, callerOf(ctx));
    sendJson(ctx, { status: link.status, message: linkMessage(link) });
  }),
  request: (ctx) => sendRequest(kit, ctx, undefined),
  requestWithNonce: async (ctx) => sendRequest(kit, ctx, (await formBody(ctx)).get("wallet_nonce")),
  /** Takes a wallet's direct_post. The response does not show whether the answer is accepted. @see OpenID4VP 1.0 §8.2 */
  async response(ctx) {
    const form = await formBody(ctx);
    const [state, answer] = [form.get("state"), readResponse(form)];
    if (state === undefined || answer === undefined) {
      throw new Refusal("invalid_request", "wallet_answer_malformed", {
        description: "The form needs state, and either vp_token or error.",
      });
    }
    const responseCode = await takeResponse(state, answer, kit.linking, callerOf(ctx));
    sendJson(ctx, responseCode === undefined ? {} : { redirect_uri: `${kit.ports.issuer}/account/wallet?response_code=${responseCode}` });
  },
});

async function sendRequest({ linking }: WalletKit, ctx: FrontContext, walletNonce: string | undefined): Promise<void> {
  const request = await signedRequest(ctx.params.state ?? "", walletNonce, linking);
  noStore(ctx);
  ctx.set(OPEN_TO_SCRIPTS);
  ctx.set("Content-Type", "application/oauth-authz-req+jwt");
  ctx.body = request;
}

const CONFLICTS: Readonly<Record<string, string>> = {
  identity_of_another: "This wallet is linked to another account.",
  account_has_wallet: "The account is linked to another wallet. Unlink that one first.",
};

/** The message for a link that failed. The reason itself is only in the audit record. */
function linkMessage({ status, reason = "" }: LinkStatus): string | undefined {
  if (status === "conflict") return CONFLICTS[reason];
  if (status === "expired") return "The request has expired. Start again.";
  if (status !== "rejected") return undefined;
  return reason === "wallet_access_denied" ? "The wallet declined." : "The wallet's answer was not accepted.";
}
