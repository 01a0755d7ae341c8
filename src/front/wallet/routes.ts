import { API_PURPOSE, isCsrfToken } from "../../accounts/sessions.ts";
import { Refusal } from "../../errors.ts";
import { pollLink, signedRequest, startLink, takeResponse } from "../../wallet/linking.ts";
import { readResponse } from "../../wallet/query.ts";
import { signedInBy } from "../auth/signed-in.ts";
import { formBody } from "../http/body.ts";
import { exactRouter } from "../http/exact-router.ts";
import { noStore, openToScripts, sendJson } from "../http/headers.ts";
import type { FrontContext, Handler, RouteGroup } from "../http/routes.ts";
import { callerOf } from "../user-ports.ts";
import { walletErrorPrinter } from "./errors.ts";
import type { WalletKit } from "./kit.ts";
import { linkMessage } from "./messages.ts";

/** POST /auth/link/wallet. */
const startRoute =
  (kit: WalletKit): Handler =>
  async (ctx) => {
    const { secret, ...signedIn } = await signedInBy(ctx, kit.ports, kit.cookies);
    if (!isCsrfToken(ctx.req.headers["x-csrf-token"], secret, API_PURPOSE)) {
      throw new Refusal("unauthenticated", "csrf_token", { description: "The header X-CSRF-Token is missing or wrong." });
    }
    const { handle, invocationUri, expiresAt } = await startLink(signedIn, false, kit.linking, callerOf(ctx));
    sendJson(ctx, { handle, invocation_uri: invocationUri, expires_at: expiresAt });
  };

/**
 * POST /auth/link/wallet/response: what a wallet sends, by direct_post. Whatever it is worth, it has been taken.
 * @see OpenID4VP 1.0 §8.2
 */
const responseRoute =
  (kit: WalletKit): Handler =>
  async (ctx) => {
    const form = await formBody(ctx);
    const [state, answer] = [form.get("state"), readResponse(form)];
    if (state === undefined || answer === undefined) {
      throw new Refusal("invalid_request", "wallet_answer_malformed", {
        description: "The form needs state, and either vp_token or error.",
      });
    }
    const returned = await takeResponse(state, answer, kit.linking, callerOf(ctx));
    sendJson(ctx, returned === undefined ? {} : { redirect_uri: `${kit.ports.issuer}/account/wallet?response_code=${returned}` });
  };

/**
 * The paths of wallet linking (specification §4.2), and the two that wallets themselves use: the signed request that an invocation refers
 * to, and the address of the answer. These two know no cookies, so that wallets that are web pages may use them as well.
 */
export function walletRoutes(kit: WalletKit): RouteGroup {
  const { fault, issuer } = kit.ports;
  const print = walletErrorPrinter(issuer);
  const sendRequest = async (ctx: FrontContext, state: string, walletNonce: string | undefined): Promise<void> => {
    const request = await signedRequest(state, walletNonce, kit.linking);
    noStore(ctx);
    openToScripts(ctx);
    ctx.set("Content-Type", "application/oauth-authz-req+jwt");
    ctx.body = request;
  };
  const router = exactRouter(print, fault);
  router.get("/auth/link/wallet/:handle", async (ctx) => {
    const { secret: _, ...signedIn } = await signedInBy(ctx, kit.ports, kit.cookies);
    const link = await pollLink(ctx.params.handle ?? "", signedIn, kit.linking, callerOf(ctx));
    sendJson(ctx, { status: link.status, message: linkMessage(link) });
  });
  router.get("/auth/link/wallet/request/:state", (ctx) => sendRequest(ctx, ctx.params.state ?? "", undefined));
  router.post("/auth/link/wallet/request/:state", async (ctx) =>
    sendRequest(ctx, ctx.params.state ?? "", (await formBody(ctx)).get("wallet_nonce")),
  );
  return {
    fixed: {
      "/auth/link/wallet": { methods: { POST: startRoute(kit) }, print },
      "/auth/link/wallet/response": { methods: { POST: responseRoute(kit) }, print, cors: true },
    },
    router,
    print,
  };
}
