import { z } from "zod";
import type { ZodOpenApiOperationObject } from "zod-openapi";
import { CATALOGUE, Refusal } from "../../errors.ts";
import { csrfHeader } from "../auth/consents.ts";
import { sendJson, setRetryHeaders } from "../http/answers.ts";
import { form, json, schema, text } from "../http/describe.ts";
import type { ErrorPrinter, Handler, HotContext, Route } from "../http/routes.ts";

export type WalletHandlers = Readonly<Record<"start" | "poll" | "request" | "requestWithNonce" | "response", Handler>>;

/**
 * The paths of wallet linking, for pages and for wallets: the signed request that an invocation refers to, and the address of the answer.
 * The latter need no cookies, so that wallets that are web pages can use them. @see docs/protocol.md#wallet-linking
 */
export function walletRoutes(issuer: string, { start, poll, request, requestWithNonce, response }: WalletHandlers): readonly Route[] {
  const print = walletErrorPrinter(issuer);
  return [
    { method: "POST", path: "/auth/link/wallet", print, answer: start, openapi: describeStart },
    { method: "GET", path: "/auth/link/wallet/:handle", print, answer: poll, openapi: describePoll },
    {
      method: "GET",
      path: "/auth/link/wallet/request/:state",
      print,
      answer: request,
      openapi: () => ({ ...describeRequest(), summary: "The request that an invocation refers to, where requests are signed" }),
    },
    {
      method: "POST",
      path: "/auth/link/wallet/request/:state",
      print,
      answer: requestWithNonce,
      openapi: () => ({
        ...describeRequest(),
        summary: "The same with a nonce of the wallet's",
        requestBody: form(z.object({ wallet_nonce: z.string().optional() }).meta({ id: "WalletNonce" })),
      }),
    },
    { method: "POST", path: "/auth/link/wallet/response", cors: true, print, answer: response, openapi: describeResponse },
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

const describeStart = (): ZodOpenApiOperationObject => ({
  tags: ["Wallets"],
  summary: "Starts linking a wallet to the signed-in user",
  security: [{ session: [] }],
  requestParams: { header: csrfHeader() },
  responses: {
    "200": json("The request for the wallet.", startedLink()),
    ...sessionErrors(),
    "429": refused("This user or address has started too many links; see Retry-After."),
  },
});

const describePoll = (): ZodOpenApiOperationObject => ({
  tags: ["Wallets"],
  summary: "Returns the status of a link, and completes it once the wallet has answered",
  security: [{ session: [] }],
  requestParams: { path: z.object({ handle: z.string() }) },
  responses: { "200": json("The status.", linkStatus()), ...sessionErrors() },
});

const describeRequest = (): ZodOpenApiOperationObject => ({
  responses: { "200": text("The signed request.", "application/oauth-authz-req+jwt"), ...pathErrors() },
  requestParams: { path: z.object({ state: z.string() }) },
  security: [],
  tags: ["Wallets"],
});

const describeResponse = (): ZodOpenApiOperationObject => ({
  tags: ["Wallets"],
  summary: "Accepts the answer of a wallet (direct_post)",
  description: "Always 200: only the user's session learns the outcome.",
  security: [],
  requestBody: form(walletAnswer()),
  responses: {
    "200": json("Taken.", takenAnswer()),
    "400": refused("The form is malformed, or no request waits for this state."),
    "413": refused("The body is too large."),
    "415": refused("The body is encoded."),
    ...pathErrors(),
  },
});

const Message = schema("WalletError", () => ({ message: z.string() }));
const refused = (description: string) => json(description, Message());
const pathErrors = () => ({
  "404": refused("There is no such link, or wallets cannot be linked here (WALLET_FEDERATION_ENABLED)."),
  "500": refused("Not able to answer now; see Retry-After."),
});
const sessionErrors = () => ({ "401": refused("No user is signed in, or X-CSRF-Token is missing or wrong."), ...pathErrors() });

const startedLink = schema("WalletLink", () => ({
  handle: z.string().meta({ description: "For the poll. Known only to this session." }),
  invocation_uri: z.string().meta({ description: "OpenID4VP 1.0 request, as a link or a QR code for the wallet." }),
  expires_at: z.int().meta({ description: "Seconds since 1970." }),
}));

const linkStatus = schema("WalletLinkStatus", () => ({
  status: z.enum(["pending", "linked", "conflict", "expired", "rejected"]).meta({ description: "All but `pending` are final." }),
  message: z.string().optional(),
}));

const walletAnswer = schema("WalletAnswer", () => ({
  state: z.string(),
  vp_token: z.string().optional().meta({ description: 'JSON: `{"link": ["<SD-JWT VC with key binding>"]}`.' }),
  error: z.string().optional(),
  error_description: z.string().optional(),
}));

const takenAnswer = schema("WalletAnswerTaken", () => ({
  redirect_uri: z.url().optional().meta({ description: "Where a wallet on the same device sends the browser." }),
}));
