import { z } from "zod";
import type { ZodOpenApiPathsObject } from "zod-openapi";
import {
  ConsentList,
  ForgotBody,
  ForgotResult,
  LoginBody,
  LoginTokenSet,
  LogoutResult,
  RegisterBody,
  ResendBody,
  ResendRefusal,
  ResendResult,
  ResetBody,
  ResetResult,
  UserView,
  VerifyResult,
} from "./accounts.ts";
import { json, jsonRequest } from "./describe.ts";
import { ApiError } from "./oauth.ts";

const refused = (description: string) => json(description, ApiError);
const unreadable = { "415": refused("The body is not application/json, or is encoded.") };
const unavailable = { "503": refused("Not able to answer now; see Retry-After.") };
const csrfHeader = z.object({ "X-CSRF-Token": z.string().meta({ description: "The `csrfToken` of GET /consents/." }) });

/** Specification §4.2 and §4.5 as paths of the API description. */
export const accountPaths: ZodOpenApiPathsObject = {
  "/auth/register": {
    post: {
      tags: ["Accounts"],
      summary: "Opens an account and sends a verification mail",
      security: [],
      requestBody: jsonRequest(RegisterBody),
      responses: {
        "201": json("The account.", UserView),
        "400": refused("Not valid, or the password is too weak."),
        "409": refused("The address has an account."),
        "429": refused("Too many from this address; see Retry-After."),
        ...unreadable,
        ...unavailable,
      },
    },
  },
  "/auth/login": {
    post: {
      tags: ["Accounts"],
      summary: "Signs in with a password",
      security: [],
      requestBody: jsonRequest(LoginBody),
      responses: {
        "200": json("The tokens; the session cookie is set too.", LoginTokenSet),
        "400": refused("Not valid."),
        "401": refused("Address or password is wrong. The challenge `Password` says that both belong in the body."),
        "429": refused("Too many failures; see Retry-After."),
        ...unreadable,
        ...unavailable,
      },
    },
  },
  "/auth/logout": {
    post: {
      tags: ["Accounts"],
      summary: "Ends all sessions and refresh tokens of the person",
      description:
        "Takes every access token of a user that is bound to no resource, also one that was issued to an application; the audit record names its client. A token that is bound to a resource, delegated or a client's own is refused. An expired access token is accepted. With `everywhere=false` only the session of the cookie ends, with the tokens that it began with.",
      security: [{ bearer: [] }],
      requestParams: { query: z.object({ everywhere: z.enum(["true", "false"]).optional() }) },
      responses: {
        "200": json("Done.", LogoutResult),
        "400": refused("`everywhere=false` without a session cookie."),
        "401": refused("No token of this service."),
        ...unavailable,
      },
    },
  },
  "/auth/resend-verification": {
    post: {
      tags: ["Accounts"],
      summary: "Sends the verification mail again",
      description: "Answers alike for every address.",
      security: [],
      requestBody: jsonRequest(ResendBody),
      responses: {
        "200": json("Sent, if there was anything to send.", ResendResult),
        "400": refused("Not valid."),
        "429": json("Too many; see Retry-After.", ResendRefusal),
        ...unreadable,
        ...unavailable,
      },
    },
  },
  "/auth/forgot-password": {
    post: {
      tags: ["Accounts"],
      summary: "Sends a link for a new password",
      description: "Answers alike for every address. The link works once, within 30 minutes, and only the newest one does.",
      security: [],
      requestBody: jsonRequest(ForgotBody),
      responses: {
        "200": json("Sent, if there is an account.", ForgotResult),
        "400": refused("Not valid."),
        "429": refused("Too many; see Retry-After."),
        ...unreadable,
        ...unavailable,
      },
    },
  },
  "/auth/reset-password": {
    post: {
      tags: ["Accounts"],
      summary: "Sets a new password by the token of the mail",
      description: "Ends every session and refresh token of the person. A password that is refused leaves the token as it was.",
      security: [],
      requestBody: jsonRequest(ResetBody),
      responses: {
        "200": json("Changed.", ResetResult),
        "400": refused("The token is malformed, unknown, used or expired, or the password is too weak."),
        ...unreadable,
        ...unavailable,
      },
    },
  },
  "/auth/verify": {
    get: {
      tags: ["Accounts"],
      summary: "Proves an e-mail address",
      security: [],
      requestParams: { query: z.object({ token: z.string().regex(/^[0-9a-fA-F]{64}$/) }) },
      responses: {
        "200": json("Proven.", VerifyResult),
        "400": refused("The token is malformed, unknown, used or expired."),
        ...unavailable,
      },
    },
  },
  "/consents/": {
    get: {
      tags: ["Consents"],
      summary: "What the signed-in person allows clients",
      security: [{ session: [] }],
      responses: {
        "200": json("The consents, and the token for changing them.", ConsentList),
        "401": refused("Nobody is signed in: the challenge is `Session`, for the cookie."),
        ...unavailable,
      },
    },
  },
  "/consents/{id}": {
    delete: {
      tags: ["Consents"],
      summary: "Takes a consent back, with every grant that stands on it",
      security: [{ session: [] }],
      requestParams: { path: z.object({ id: z.uuid() }), header: csrfHeader },
      responses: {
        "204": { description: "Taken back." },
        "401": refused("Nobody is signed in: the challenge is `Session`, for the cookie."),
        "403": refused("X-CSRF-Token is missing or wrong."),
        "404": refused("The person has no such consent."),
        ...unavailable,
      },
    },
  },
};
