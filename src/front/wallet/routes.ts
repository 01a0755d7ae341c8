import { CATALOGUE, Refusal } from "../../errors.ts";
import { setRetryHeaders } from "../http/errors.ts";
import { sendJson } from "../http/headers.ts";
import type { ErrorPrinter, Handler, HotContext, Route } from "../http/routes.ts";

/** What answers the wallet paths. */
export interface WalletHandlers {
  readonly start: Handler;
  readonly poll: Handler;
  readonly request: Handler;
  readonly requestWithNonce: Handler;
  readonly response: Handler;
}

/**
 * The paths of wallet linking (docs/protocol.md#wallet-linking), and those that wallets themselves use: the signed request that an
 * invocation refers to, and the address of the answer. The latter need no cookies, so that wallets that are web pages can use them.
 */
export function walletRoutes(issuer: string, { start, poll, request, requestWithNonce, response }: WalletHandlers): readonly Route[] {
  const print = walletErrorPrinter(issuer);
  return [
    { method: "POST", path: "/auth/link/wallet", print, answer: start },
    { method: "GET", path: "/auth/link/wallet/:handle", print, answer: poll },
    { method: "GET", path: "/auth/link/wallet/request/:state", print, answer: request },
    { method: "POST", path: "/auth/link/wallet/request/:state", print, answer: requestWithNonce },
    { method: "POST", path: "/auth/link/wallet/response", cors: true, print, answer: response },
  ];
}

const refuse = (): never => {
  throw new Refusal("not_found", "wallets_off", { description: "This server does not link wallets." });
};

/** The wallet paths of a server that does not link wallets: each answers "not found". */
export const walletOffRoutes = (issuer: string): readonly Route[] =>
  walletRoutes(issuer, { start: refuse, poll: refuse, request: refuse, requestWithNonce: refuse, response: refuse });

/** Errors of the wallet paths have a message and no other member. They have no 503: what cannot be answered now is 500. */
const walletErrorPrinter =
  (issuer: string): ErrorPrinter<HotContext> =>
  (ctx, refusal) => {
    const unavailable = refusal === undefined || refusal.code === "temporarily_unavailable";
    const status = unavailable ? 500 : CATALOGUE[refusal.code].http;
    setRetryHeaders(ctx, refusal);
    if (status === 401) ctx.set("WWW-Authenticate", `Session realm="${issuer}"`);
    sendJson(ctx, { message: refusal?.detail.description ?? "This did not work." }, status);
  };
