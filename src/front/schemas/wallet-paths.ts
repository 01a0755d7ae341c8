import { z } from "zod";
import type { ZodOpenApiPathsObject } from "zod-openapi";
import { form, json, text } from "./describe.ts";

const Message = z.object({ message: z.string() }).meta({ id: "WalletError" });

const BegunLink = z
  .object({
    handle: z.string().meta({ description: "For the poll. Known to this session alone." }),
    invocation_uri: z.string().meta({ description: "OpenID4VP 1.0 request, as a link or a QR code for the wallet." }),
    expires_at: z.int().meta({ description: "Seconds since 1970." }),
  })
  .meta({ id: "WalletLink" });

const LinkState = z
  .object({
    status: z.enum(["pending", "linked", "conflict", "expired", "rejected"]).meta({ description: "All but `pending` are final." }),
    message: z.string().optional(),
  })
  .meta({ id: "WalletLinkStatus" });

const Answer = z
  .object({
    state: z.string(),
    vp_token: z.string().optional().meta({ description: 'JSON: `{"link": ["<SD-JWT VC with key binding>"]}`.' }),
    error: z.string().optional(),
    error_description: z.string().optional(),
  })
  .meta({ id: "WalletAnswer" });

const Taken = z
  .object({ redirect_uri: z.url().optional().meta({ description: "Where a wallet on the same device sends the browser." }) })
  .meta({ id: "WalletAnswerTaken" });

const refused = (description: string) => json(description, Message);
const withSession = {
  "401": refused("Nobody is signed in, or X-CSRF-Token is missing or wrong."),
  "404": refused("There is no such link, or wallets cannot be linked here (WALLET_FEDERATION_ENABLED)."),
  "500": refused("Not able to answer now; see Retry-After."),
};
const requestObject = {
  responses: {
    "200": text("The signed request.", "application/oauth-authz-req+jwt"),
    "404": withSession["404"],
    "500": withSession["500"],
  },
  requestParams: { path: z.object({ state: z.string() }) },
  security: [],
  tags: ["Wallets"],
};

/** Specification §4.2, wallet linking, and the paths that wallets use, as paths of the API description. */
export const walletPaths: ZodOpenApiPathsObject = {
  "/auth/link/wallet": {
    post: {
      tags: ["Wallets"],
      summary: "Starts linking a wallet to the signed-in person",
      security: [{ session: [] }],
      requestParams: { header: z.object({ "X-CSRF-Token": z.string().meta({ description: "The `csrfToken` of GET /consents/." }) }) },
      responses: {
        "200": json("The request for the wallet.", BegunLink),
        ...withSession,
        "429": refused("Too many links were begun by this person or from this address; see Retry-After."),
      },
    },
  },
  "/auth/link/wallet/{handle}": {
    get: {
      tags: ["Wallets"],
      summary: "Tells where a link stands, and completes it when the wallet has answered",
      security: [{ session: [] }],
      requestParams: { path: z.object({ handle: z.string() }) },
      responses: { "200": json("Where it stands.", LinkState), ...withSession },
    },
  },
  "/auth/link/wallet/request/{state}": {
    get: { ...requestObject, summary: "The request that an invocation refers to, where requests are signed" },
    post: {
      ...requestObject,
      summary: "The same with a nonce of the wallet's",
      requestBody: form(z.object({ wallet_nonce: z.string().optional() }).meta({ id: "WalletNonce" })),
    },
  },
  "/auth/link/wallet/response": {
    post: {
      tags: ["Wallets"],
      summary: "Takes the answer of a wallet (direct_post)",
      description: "200 whatever comes of it: the outcome is told to the person's session alone.",
      security: [],
      requestBody: form(Answer),
      responses: {
        "200": json("Taken.", Taken),
        "400": refused("The form is malformed, or no request waits for this state."),
        "413": refused("The body is too large."),
        "415": refused("The body is encoded."),
        "404": withSession["404"],
        "500": withSession["500"],
      },
    },
  },
};
