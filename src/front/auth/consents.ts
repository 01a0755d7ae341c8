import { z } from "zod";
import { revokeConsent } from "../../accounts/account.ts";
import type { SignedIn } from "../../accounts/ports.ts";
import { Refusal } from "../../errors.ts";
import { ownConsentView } from "../../management/views.ts";
import { apiErrorPrinter, sendJson } from "../http/answers.ts";
import { callerOf } from "../http/caller.ts";
import { API_PURPOSE, type Cookies, csrfToken, isCsrfToken, readSession } from "../http/cookies.ts";
import { apiError, json } from "../http/describe.ts";
import type { FrontContext, Handler, Route } from "../http/routes.ts";
import type { UserPorts } from "../user-ports.ts";
import { unavailable } from "./shapes.ts";

/** GET /consents/ and DELETE /consents/{id} for the user of the session cookie. @see docs/protocol.md#consent */
export function consentRoutes(ports: UserPorts, cookies: Cookies): readonly Route[] {
  const print = apiErrorPrinter(ports.issuer, "Session");
  const list: Handler = async (ctx) => {
    const { user, secret } = await signedInBy(ctx, ports, cookies);
    const consents = await ports.consents.ofUser(user.id);
    sendJson(ctx, { consents: consents.map(ownConsentView), csrfToken: csrfToken(secret, API_PURPOSE) });
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
    {
      method: "GET",
      path: ["/consents/", "/consents"],
      print,
      answer: list,
      openapi: () => ({
        tags: ["Consents"],
        summary: "What the signed-in user allows clients",
        security: [{ session: [] }],
        responses: {
          "200": json("The consents, and the token for changing them.", consentList()),
          "401": apiError("No user is signed in. The challenge `Session` asks for the cookie."),
          ...unavailable(),
        },
      }),
    },
    {
      method: "DELETE",
      path: "/consents/:id",
      print,
      answer: revoke,
      openapi: () => ({
        tags: ["Consents"],
        summary: "Removes a consent and every grant that depends on it",
        security: [{ session: [] }],
        requestParams: { path: z.object({ id: z.uuid() }), header: csrfHeader() },
        responses: {
          "204": { description: "Removed." },
          "401": apiError("No user is signed in. The challenge `Session` asks for the cookie."),
          "403": apiError("X-CSRF-Token is missing or wrong."),
          "404": apiError("The user has no such consent."),
          ...unavailable(),
        },
      }),
    },
  ];
}

const consentList = () =>
  z.object({
    consents: z.array(
      z.object({
        id: z.uuid(),
        clientId: z.string(),
        clientName: z.string(),
        scopes: z.array(z.string()),
        resources: z.array(z.string()),
        createdAt: z.number(),
        updatedAt: z.number().nullable(),
        lastUsedAt: z.number().nullable(),
      }),
    ),
    csrfToken: z.string(),
  });

/** The header of a request that changes something by the session cookie. */
export const csrfHeader = () => z.object({ "X-CSRF-Token": z.string().meta({ description: "The `csrfToken` of GET /consents/." }) });

/** The signed-in user and the secret of the session. @throws {Refusal} unauthenticated */
export async function signedInBy(ctx: FrontContext, { sessions }: UserPorts, cookies: Cookies): Promise<SignedIn & { secret: string }> {
  const secret = cookies.session(ctx);
  const signedIn = await readSession(secret, sessions);
  if (secret === undefined || !signedIn) throw new Refusal("unauthenticated", "no_session", { description: "Sign in first." });
  return { ...signedIn, secret };
}
