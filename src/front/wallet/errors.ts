import { CATALOGUE, type Refusal } from "../../errors.ts";
import { sendJson } from "../http/headers.ts";
import type { ErrorPrinter } from "../http/routes.ts";

/** Whoever cannot be answered now is told 500: these paths have no 503 (specification §7.2). */
const statusOf = (refusal: Refusal | undefined): number =>
  refusal === undefined || refusal.code === "temporarily_unavailable" ? 500 : CATALOGUE[refusal.code].http;

/** Errors of the wallet paths have a message and nothing else (specification §7.2). */
export const walletErrorPrinter =
  (issuer: string): ErrorPrinter =>
  (ctx, refusal) => {
    const status = statusOf(refusal);
    const wait = refusal?.detail.retryAfter ?? (refusal?.code === "temporarily_unavailable" ? 5 : undefined);
    if (wait !== undefined) ctx.set("Retry-After", String(Math.max(1, Math.ceil(wait))));
    if (status === 401) ctx.set("WWW-Authenticate", `Session realm="${issuer}"`);
    // The rest of the body stays unread, so the connection can carry no further request.
    if (status === 413) ctx.set("Connection", "close");
    sendJson(ctx, { message: refusal?.detail.description ?? "This did not work." }, status);
  };
