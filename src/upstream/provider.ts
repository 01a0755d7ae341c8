import * as client from "openid-client";
import { FetchFailure } from "../clients/guarded-fetch.ts";
import { Refusal } from "../errors.ts";
import { keptName } from "../protocol/display-name.ts";
import type { Connection } from "./connection.ts";
import { configurations, type ProviderPorts } from "./discovery.ts";
import { githubIdentity } from "./github.ts";
import { readLogoutToken } from "./logout-token.ts";
import type { Providers, SignInSecrets, UpstreamIdentity } from "./ports.ts";

function unreachable(cause: unknown): never {
  const description = "The identity provider cannot be reached at the moment.";
  throw new Refusal("temporarily_unavailable", "upstream_unreachable", { description, retryAfter: 5, cause });
}

/** Why an exchange with a provider failed, as a fixed word; undefined when it could not be reached. */
function failureOf(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof FetchFailure) return cause.reason === "too_large" ? "upstream_too_large" : undefined;
    if (cause instanceof client.ResponseBodyError) return cause.status >= 500 ? undefined : "upstream_refused";
    if (cause.cause instanceof Response && cause.cause.status >= 500) return undefined;
    const code: unknown = Reflect.get(cause, "code");
    if (typeof code === "string" && /^OAUTH_[A-Z_]{1,60}$/.test(code)) return `upstream_${code.slice("OAUTH_".length).toLowerCase()}`;
  }
  return undefined;
}

/** Whether the keys of a provider may be why an ID token was refused: none fits, or none of them made the signature, which is then the last cause. */
const isOfKeys = (error: unknown): boolean =>
  error instanceof Error
    ? Reflect.get(error, "code") === "OAUTH_KEY_SELECTION_FAILED" || isOfKeys(error.cause)
    : typeof error === "object" && error !== null && "signature" in error;

/** Sign-in by OpenID Connect providers and GitHub. @see OIDC Core §3.1, RFC 9207, RFC 9700 §4.4 */
export function providers(ports: ProviderPorts): Providers {
  const { discover, configured, renew } = configurations(ports);

  async function prove(connection: Connection, url: URL, secrets: SignInSecrets) {
    const { state, nonce, verifier, maxAge } = secrets;
    const config = await configured(connection).catch(unreachable);
    const isOidc = connection.protocol === "oidc";
    const ofIdToken = { expectedNonce: nonce, idTokenExpected: true, ...(maxAge !== undefined && { maxAge }) };
    const checks = { expectedState: state, pkceCodeVerifier: verifier, ...(isOidc && ofIdToken) };
    const tokens = await client.authorizationCodeGrant(config, url, checks);
    if (!isOidc) return githubIdentity(ports.fetch, tokens.access_token);
    const claims = tokens.claims();
    if (claims === undefined) throw new Refusal("access_denied", "upstream_without_id_token");
    // The library compares it only where there are several audiences.
    if (claims.azp !== undefined && claims.azp !== connection.clientId) throw new Refusal("access_denied", "upstream_of_another_party");
    const complete = claims.email !== undefined || config.serverMetadata().userinfo_endpoint === undefined;
    const more = complete ? {} : await client.fetchUserInfo(config, tokens.access_token, claims.sub);
    const identity = identityFrom(connection.issuer, claims, more);
    // A proof that was asked for is as new as the sign-in, however the provider's clock goes.
    return maxAge === undefined ? identity : { ...identity, authTime: undefined };
  }

  return {
    async authorizationUrl(connection, { state, nonce, verifier }, { loginHint, again }) {
      const config = await configured(connection).catch(unreachable);
      const isOidc = connection.protocol === "oidc";
      return client.buildAuthorizationUrl(config, {
        redirect_uri: ports.callback(connection.name),
        scope: connection.scopes.join(" "),
        state,
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: "S256",
        ...(isOidc && { nonce }),
        ...(loginHint !== undefined && { [isOidc ? "login_hint" : "login"]: loginHint }),
        ...(isOidc && again && { prompt: "login", max_age: "0" }),
      }).href;
    },
    async identityOf(connection, url, secrets) {
      try {
        return await prove(connection, url, secrets);
      } catch (error) {
        if (error instanceof Refusal) throw error;
        if (error instanceof client.AuthorizationResponseError)
          throw new Refusal("access_denied", error.error === "access_denied" ? "upstream_denied" : "upstream_error", { cause: error });
        const reason = failureOf(error);
        // The library keeps keys for five minutes. The code is used up, but the next sign-in knows a key that has replaced another one.
        if (isOfKeys(error)) await renew(connection).catch(() => undefined);
        if (reason === undefined) return unreachable(error);
        throw new Refusal("access_denied", reason, { cause: error });
      }
    },
    logoutOf: (connection, token) => readLogoutToken(token, connection, ports),
    async test(connection) {
      const config = await discover(connection).catch((error: unknown) => error);
      if (!(config instanceof client.Configuration)) return { kind: "fails", stage: "metadata", reason: testReason(config) };
      return credentialsOf(config, ports.callback(connection.name));
    },
  };
}

const testReason = (error: unknown): string => {
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (cause instanceof FetchFailure) return cause.reason;
  const failure = failureOf(error) ?? "unreachable";
  return failure === "upstream_json_attribute_comparison_failed" ? "document_of_another_issuer" : failure; // nothing else of a document is compared
};

/** Redeems an invented code: the provider refuses the code only after it has accepted the credentials (RFC 6749 §5.2). */
async function credentialsOf(config: client.Configuration, redirectUri: string): ReturnType<Providers["test"]> {
  const parameters = { code: "countersign-connection-test", redirect_uri: redirectUri, code_verifier: "x".repeat(43) };
  const error = await client.genericGrantRequest(config, "authorization_code", parameters).then(
    () => undefined,
    (failure: unknown) => failure,
  );
  if (error instanceof client.ResponseBodyError && ["invalid_grant", "bad_verification_code", "invalid_code"].includes(error.error))
    return { kind: "works" };
  if (error instanceof client.WWWAuthenticateChallengeError) return { kind: "fails", stage: "credentials", reason: "invalid_client" };
  const reason = error instanceof client.ResponseBodyError && /^[a-z_]{1,40}$/.test(error.error) ? error.error : testReason(error);
  return { kind: "fails", stage: "credentials", reason };
}

const textOf = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);

/** Longest parts of an identity that are taken over. */
const MAX_SUBJECT = 255;
const MAX_EMAIL = 254;
const MAX_NAME = 100;

const nameOf = (value: unknown): string | undefined => keptName(textOf(value) ?? "", MAX_NAME) || undefined;

type Claims = Readonly<Record<string, unknown>>;

/**
 * The identity in an ID token. User information completes what it says of the user; how and when they signed in, the ID token alone says.
 * Microsoft Entra reports a verified address as `xms_edov`. Pure. @throws {Refusal}
 */
export function identityFrom(issuer: string, claims: Claims, information: Claims = {}): UpstreamIdentity {
  const { email: address, email_verified, xms_edov, given_name, family_name } = { ...information, ...claims };
  const subject = textOf(claims.sub);
  if (subject === undefined || subject.length > MAX_SUBJECT) throw new Refusal("access_denied", "upstream_subject_invalid");
  const email = textOf(address);
  const isAddress = email !== undefined && email.length <= MAX_EMAIL && /^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u.test(email);
  const verified = [email_verified, xms_edov].some((value) => value === true || value === "true" || value === 1);
  return {
    issuer,
    subject,
    email: isAddress ? email : undefined,
    emailVerified: isAddress && verified,
    firstName: nameOf(given_name),
    lastName: nameOf(family_name),
    acr: textOf(claims.acr),
    amr: Array.isArray(claims.amr) ? claims.amr.filter((value): value is string => typeof value === "string").slice(0, 16) : [],
    authTime: Number.isFinite(claims.auth_time) ? Math.floor(Math.max(0, Number(claims.auth_time))) : undefined,
    sid: textOf(claims.sid)?.slice(0, MAX_SUBJECT),
  };
}
