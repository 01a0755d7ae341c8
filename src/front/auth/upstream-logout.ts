import { z } from "zod";
import { Refusal } from "../../errors.ts";
import { connectionUnknown } from "../../upstream/connection.ts";
import { formBody } from "../http/body.ts";
import { form, json, OauthError, oauthBodyErrors } from "../http/describe.ts";
import { oauthErrorPrinter } from "../http/errors.ts";
import { noStore } from "../http/headers.ts";
import type { Route } from "../http/routes.ts";
import type { UserPorts } from "../user-ports.ts";

/** `POST /signin/{name}/logout`: a provider reports a logout, which ends the sessions that its sign-in started. @see OpenID Connect Back-Channel Logout 1.0 §2.5 */
export const upstreamLogoutRoute = ({ issuer, connections, identityLinks, providers }: UserPorts): Route => ({
  method: "POST",
  path: "/signin/:name/logout",
  print: oauthErrorPrinter(issuer),
  openapi: () => ({
    tags: ["Accounts"],
    summary: "Ends the sessions of a user who has signed out at an identity provider",
    description: "For identity providers that users sign in by. The logout token names the session or the user, and works once.",
    security: [],
    requestParams: { path: z.object({ name: z.string() }) },
    requestBody: form(z.object({ logout_token: z.string() }).meta({ id: "UpstreamLogoutRequest" })),
    responses: {
      "200": { description: "Done, or there was no such session. The body is empty." },
      "400": json("The logout token is missing, not valid, or has been used.", OauthError()),
      "404": json("There is no such identity provider.", OauthError()),
      "503": json("Not able to answer now; see Retry-After.", OauthError()),
      ...oauthBodyErrors(),
    },
  }),
  async answer(ctx) {
    const token = (await formBody(ctx)).get("logout_token");
    const connection = await connections.byName(String(ctx.params.name));
    if (!connection) throw connectionUnknown();
    if (connection.protocol !== "oidc" || token === undefined)
      throw new Refusal("invalid_request", "logout_token_missing", { description: "logout_token is missing." });
    const logout = await (await providers()).logoutOf(connection, token);
    const { issuer: from } = connection;
    const actor = { type: "service", id: "upstream" } as const;
    const origin = { address: ctx.state.address, requestId: ctx.state.requestId };
    const audit = { event: "session.ended", outcome: "success", reason: "upstream_logout", resources: [from], actor, ...origin } as const;
    if (!(await identityLinks.endSessions(from, logout, audit)))
      throw new Refusal("invalid_request", "logout_token_used", { description: "This logout token has been used." });
    noStore(ctx);
    ctx.status = 200;
    ctx.body = "";
    ctx.remove("Content-Type"); // Koa gives a text one
  },
});
