import { z } from "zod";
import { assertWithin } from "../../accounts/caller.ts";
import type { RateLimiter } from "../../accounts/ports.ts";
import { isRefusal } from "../../errors.ts";
import type { TokenCore } from "../../grpc/local.ts";
import { type PushedReference, parseAuthorizationRequest, uiLocalesIn } from "../../protocol/authorization-request.ts";
import { detailsRefused } from "../../protocol/grants.ts";
import { limitKey } from "../../protocol/limit-key.ts";
import { giveNonce, oauthErrorPrinter, sendJson, sentProof } from "../http/answers.ts";
import { clientForm } from "../http/body.ts";
import { csrfToken } from "../http/cookies.ts";
import {
  assertionFields,
  authorizeParameters,
  credentialFields,
  form,
  json,
  oauthBodyErrors,
  oauthErrors,
  proofHeader,
  resource,
  schema,
  scope,
  seconds,
} from "../http/describe.ts";
import type { FrontContext, Route } from "../http/routes.ts";
import { expired } from "./pending-request.ts";

/** What the endpoints take whose requests are stored before a user sees them. `limiter`: of the requests of one address. */
export interface LimitedEndpointOptions {
  readonly core: TokenCore;
  readonly issuer: string;
  readonly limiter: RateLimiter;
}

/** Requests that one address may push: 20 a second, enough for the server of a busy application. */
export const PUSH_RATE = { points: 1200, seconds: 60 } as const;

const PATH = "/oauth/par";

/** `POST /oauth/par`. @see RFC 9126 §2, docs/protocol.md#pushed-authorization-requests */
export const pushRoute = ({ core, issuer, limiter }: LimitedEndpointOptions): Route => ({
  method: "POST",
  path: PATH,
  cors: true,
  print: oauthErrorPrinter(issuer),
  openapi: () => ({
    tags: ["OAuth"],
    summary: "Takes an authorization request from its client, for a browser to open (RFC 9126)",
    security: [{ clientBasic: [] }, {}],
    requestParams: { header: proofHeader("the code is bound to its key") },
    requestBody: form(pushedParameters()),
    responses: { "201": json("What the browser is sent with.", pushAnswer()), ...oauthErrors(), ...oauthBodyErrors() },
  }),
  async answer(ctx) {
    const { text, client } = await clientForm(ctx);
    const address = limitKey(ctx.state.address);
    await assertWithin(limiter, address);
    const pushed = await core.pushAuthorization(
      {
        client: { ...client, dpop: sentProof(ctx, `${issuer}${PATH}`) },
        request: parseAuthorizationRequest(text),
        uiLocales: uiLocalesIn(text),
        address,
        requestId: ctx.state.requestId,
      },
      { signal: ctx.state.signal },
    );
    giveNonce(ctx, pushed.dpopNonce);
    sendJson(ctx, { request_uri: pushed.requestUri, expires_in: pushed.expiresIn }, 201);
  },
});

/**
 * Opens a pushed request, which this browser then keeps.
 * @param browser its secret  @returns also the languages that it asks for, and that secret
 * @throws {Refusal} invalid_request when it cannot be opened here
 */
export async function openPushed(ctx: FrontContext, pushed: PushedReference, core: TokenCore, browser: string) {
  try {
    const opening = { ...pushed, browser: csrfToken(browser, "pushed request") };
    const { request, uiLocales } = await core.openPushedRequest(opening, { signal: ctx.state.signal });
    if (request === undefined) throw new Error("the core gave no request");
    return { request, uiLocales, browser };
  } catch (error) {
    return pushedOver(error);
  }
}

/** Handles what the core throws for a pushed request that it does not open, or no longer. @throws the error, or {Refusal} invalid_request */
export function pushedOver(error: unknown): never {
  throw isRefusal(error) && error.code === "not_found" ? expired() : error;
}

const pushedParameters = schema("PushedAuthorizationRequest", () => ({
  ...authorizeParameters().shape,
  ...credentialFields(),
  ...assertionFields(),
}));

const pushAnswer = schema("PushedAuthorizationResponse", () => ({
  request_uri: z
    .string()
    .meta({ description: "For the authorization endpoint, beside client_id.", example: "urn:ietf:params:oauth:request_uri:…" }),
  expires_in: seconds(),
}));

/** Requests that one address may begin. */
export const DEVICE_RATE = { points: 60, seconds: 60 } as const;

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
    const { form, client: credential } = await clientForm(ctx);
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

const deviceAuthorizationRequest = schema("DeviceAuthorizationRequest", () => ({
  ...credentialFields(),
  ...assertionFields(),
  scope: scope().optional(),
  resource: resource(),
}));

const deviceAuthorizationResponse = schema("DeviceAuthorizationResponse", () => ({
  device_code: z.string(),
  user_code: z.string().meta({ example: "BCDF-GHJK" }),
  verification_uri: z.url().meta({ description: "Where the user enters the code." }),
  verification_uri_complete: z.url().meta({ description: "The same with the code filled in, as for a QR code." }),
  expires_in: seconds(),
  interval: seconds().meta({ description: "Seconds between two token requests." }),
}));
