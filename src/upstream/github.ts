import type { ServerMetadata } from "openid-client";
import { FetchFailure, type GuardedSend } from "../clients/guarded-fetch.ts";
import { isObject } from "../clients/public-keys.ts";
import { Refusal } from "../errors.ts";
import type { UpstreamIdentity } from "./ports.ts";

/** GitHub offers OAuth 2.0 without metadata and ID tokens. @see https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps */
export const githubMetadata: ServerMetadata = {
  issuer: "https://github.com",
  authorization_endpoint: "https://github.com/login/oauth/authorize",
  token_endpoint: "https://github.com/login/oauth/access_token",
  token_endpoint_auth_methods_supported: ["client_secret_post"],
};

const MAX_BYTES = 262_144;

async function read(fetch: GuardedSend, path: string, token: string): Promise<unknown> {
  const headers = { accept: "application/vnd.github+json", authorization: `Bearer ${token}` };
  const { status, body } = await fetch.send({ url: `https://api.github.com${path}`, method: "GET", headers, maxBytes: MAX_BYTES });
  if (status >= 500 || status === 429) throw new FetchFailure("status_not_200"); // of GitHub itself, and nothing about the user
  if (status !== 200) throw new Refusal("access_denied", "upstream_refused");
  try {
    return JSON.parse(Buffer.from(body).toString("utf8"));
  } catch (cause) {
    throw new Refusal("access_denied", "upstream_malformed", { cause });
  }
}

/** The user of an access token. The numeric id is the identity: a user name can be given up and taken by another user. */
export async function githubIdentity(fetch: GuardedSend, token: string): Promise<UpstreamIdentity> {
  return identityOfProfile(await read(fetch, "/user", token), await read(fetch, "/user/emails", token));
}

/** Pure. @throws {Refusal} access_denied */
export function identityOfProfile(profile: unknown, emails: unknown): UpstreamIdentity {
  const id = isObject(profile) ? profile.id : undefined;
  if (typeof id !== "number" || !Number.isSafeInteger(id)) throw new Refusal("access_denied", "upstream_subject_invalid");
  const primary = (Array.isArray(emails) ? emails : []).find((each: unknown) => isObject(each) && each.primary === true);
  const email = isObject(primary) && typeof primary.email === "string" ? primary.email : undefined;
  return {
    issuer: githubMetadata.issuer,
    subject: String(id),
    email,
    emailVerified: email !== undefined && isObject(primary) && primary.verified === true,
    ...{ firstName: undefined, lastName: undefined, acr: undefined, amr: [], sid: undefined },
  };
}
