import { CATALOGUE, Refusal } from "../../errors.ts";
import { exactRouter } from "../http/exact-router.ts";
import { sendJson } from "../http/headers.ts";
import type { ErrorPrinter, RouteGroup } from "../http/routes.ts";
import type { ReportFault } from "../ports.ts";

/** Errors of these paths have a message and nothing else (specification §7.2). */
const print: ErrorPrinter = (ctx, refusal) => {
  const status = refusal === undefined ? 500 : CATALOGUE[refusal.code].http;
  sendJson(ctx, { message: refusal?.detail.description ?? "This did not work." }, status);
};

const refuse = (): never => {
  throw new Refusal("not_found", "wallets_off", { description: "Wallets cannot be linked here." });
};

/**
 * The wallet paths of a server that links no wallets: there is nothing at them, in words that their clients read.
 * @see specification §4.2
 */
export function walletOffRoutes({ fault }: { readonly fault: ReportFault }): RouteGroup {
  const router = exactRouter(print, fault);
  router.get("/auth/link/wallet/:handle", refuse);
  router.get("/auth/link/wallet/request/:state", refuse).post("/auth/link/wallet/request/:state", refuse);
  const route = { methods: { POST: refuse }, print };
  return { fixed: { "/auth/link/wallet": route, "/auth/link/wallet/response": route }, router, print };
}
