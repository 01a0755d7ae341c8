import { Router } from "@koa/router";
import { CATALOGUE, Refusal } from "../errors.ts";
import { errorsAs } from "./middleware/errors.ts";
import { sendJson } from "./middleware/headers.ts";
import type { ReportFault } from "./ports.ts";
import type { ErrorPrinter, FrontState, RouteGroup } from "./routes.ts";

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
  const router = new Router<FrontState>();
  router.get("/auth/link/wallet/:handle", errorsAs(print, fault), refuse);
  return { fixed: { "/auth/link/wallet": { methods: { POST: refuse }, print } }, router };
}
