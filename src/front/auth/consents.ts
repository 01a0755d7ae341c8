import { revokeConsent } from "../../accounts/consents.ts";
import type { Consent } from "../../accounts/ports.ts";
import { API_PURPOSE, csrfToken, isCsrfToken } from "../../accounts/sessions.ts";
import { milliseconds } from "../../clock.ts";
import { Refusal } from "../../errors.ts";
import type { Cookies } from "../http/cookies.ts";
import { apiErrorPrinter } from "../http/errors.ts";
import { sendJson } from "../http/headers.ts";
import type { Handler, Route } from "../http/routes.ts";
import { callerOf, type UserPorts } from "../user-ports.ts";
import { signedInBy } from "./signed-in.ts";

/** A consent as its owner sees it; times in milliseconds. */
const consentView = ({ id, clientId, clientName, scopes, resources, createdAt, updatedAt, lastUsedAt }: Consent) => ({
  id,
  clientId,
  clientName,
  scopes,
  resources,
  createdAt: milliseconds(createdAt),
  updatedAt: updatedAt === null ? null : milliseconds(updatedAt),
  lastUsedAt: lastUsedAt === null ? null : milliseconds(lastUsedAt),
});

/** GET /consents/ and DELETE /consents/{id} for the person whose session cookie comes along (specification §4.5). */
export function consentRoutes(ports: UserPorts, cookies: Cookies): readonly Route[] {
  const print = apiErrorPrinter(ports.issuer, "Session");
  const list: Handler = async (ctx) => {
    const { user, secret } = await signedInBy(ctx, ports, cookies);
    const consents = await ports.consents.ofUser(user.id);
    sendJson(ctx, { consents: consents.map(consentView), csrfToken: csrfToken(secret, API_PURPOSE) });
  };
  const revoke: Handler = async (ctx) => {
    const { user, secret } = await signedInBy(ctx, ports, cookies);
    if (!isCsrfToken(ctx.req.headers["x-csrf-token"], secret, API_PURPOSE)) {
      throw new Refusal("forbidden", "csrf_token", { description: "The header X-CSRF-Token is missing or wrong." });
    }
    await revokeConsent(ctx.params.id ?? "", user.id, ports.consents, callerOf(ctx));
    ctx.status = 204;
  };
  return [
    { method: "GET", path: ["/consents/", "/consents"], print, answer: list },
    { method: "DELETE", path: "/consents/:id", print, answer: revoke },
  ];
}
