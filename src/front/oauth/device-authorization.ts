import { z } from "zod";
import { assertWithin } from "../../accounts/caller.ts";
import type { RateLimiter } from "../../accounts/ports.ts";
import type { TokenCore } from "../../grpc/local.ts";
import { assertNoCredentialInQuery, parseClientCredential } from "../../protocol/form.ts";
import { detailsRefused } from "../../protocol/grants.ts";
import { limitKey } from "../../protocol/limit-key.ts";
import { formBody } from "../http/body.ts";
import {
  assertionFields,
  credentialFields,
  form,
  json,
  oauthBodyErrors,
  oauthErrors,
  proofHeader,
  resource,
  scope,
  seconds,
} from "../http/describe.ts";
import { oauthErrorPrinter } from "../http/errors.ts";
import { giveNonce, sendJson, sentProof } from "../http/headers.ts";
import { queryText, type Route } from "../http/routes.ts";

/** Requests that one address may begin. */
export const DEVICE_RATE = { points: 60, seconds: 60 } as const;

/** What the endpoints take whose requests are stored before a user sees them. `limiter`: of the requests of one address. */
export interface LimitedEndpointOptions {
  readonly core: TokenCore;
  readonly issuer: string;
  readonly limiter: RateLimiter;
}

/** `POST /oauth/device_authorization`. @see RFC 8628 §3.1, docs/protocol.md#device-authorization */
export const deviceAuthorizationRoute = ({ core, issuer, limiter }: LimitedEndpointOptions): Route => ({
  method: "POST",
  path: "/oauth/device_authorization",
  cors: true,
  print: oauthErrorPrinter(issuer),
  openapi: () => ({
    tags: ["OAuth"],
    summary: "Begins to sign a user in on another device (RFC 8628)",
    requestParams: { header: proofHeader("only this key redeems the device code") },
    security: [{ clientBasic: [] }, {}],
    requestBody: form(deviceAuthorizationRequest()),
    responses: { "200": json("The codes.", deviceAuthorizationResponse()), ...oauthErrors(), ...oauthBodyErrors() },
  }),
  async answer(ctx) {
    assertNoCredentialInQuery(queryText(ctx));
    const form = await formBody(ctx);
    const credential = parseClientCredential(ctx.req.headers.authorization, form, ctx.state.address);
    if (form.get("authorization_details") !== undefined) throw detailsRefused();
    const client = { ...credential, dpop: sentProof(ctx, `${issuer}/oauth/device_authorization`) };
    const address = limitKey(ctx.state.address);
    await assertWithin(limiter, address);
    const request = { client, scope: form.get("scope"), resource: [...form.all("resource")], address, requestId: ctx.state.requestId };
    const { deviceCode, userCode, expiresIn, interval, dpopNonce } = await core.authorizeDevice(request, { signal: ctx.state.signal });
    giveNonce(ctx, dpopNonce);
    sendJson(ctx, {
      device_code: deviceCode,
      user_code: userCode,
      verification_uri: `${issuer}/device`,
      verification_uri_complete: `${issuer}/device?user_code=${userCode}`,
      expires_in: expiresIn,
      interval,
    });
  },
});

const deviceAuthorizationRequest = () =>
  z
    .object({ ...credentialFields(), ...assertionFields(), scope: scope().optional(), resource: resource() })
    .meta({ id: "DeviceAuthorizationRequest" });

const deviceAuthorizationResponse = () =>
  z
    .object({
      device_code: z.string(),
      user_code: z.string().meta({ example: "BCDF-GHJK" }),
      verification_uri: z.url().meta({ description: "Where the user enters the code." }),
      verification_uri_complete: z.url().meta({ description: "The same with the code filled in, as for a QR code." }),
      expires_in: seconds(),
      interval: seconds().meta({ description: "Seconds between two token requests." }),
    })
    .meta({ id: "DeviceAuthorizationResponse" });
