import { setTimeout as sleep } from "node:timers/promises";
import { CATALOGUE, Refusal, type RefusalCode } from "../../../src/errors.ts";
import type { TokenCoreImplementation } from "../../../src/grpc/local.ts";

const isCode = (word: string): word is RefusalCode => Object.hasOwn(CATALOGUE, word);

/** A log that keeps its lines. */
export function keptLog() {
  const lines: unknown[] = [];
  const keep = (event: string, fields?: object) => void lines.push(fields === undefined ? [event] : [event, fields]);
  return { lines, log: { info: keep, warn: keep } };
}

/** All details that a refusal can have. */
export const FULL_DETAIL = {
  description: "fixed words",
  retryAfter: 7,
  scope: "a b",
  issues: [{ path: "redirectUris.0", message: "must be a URI" }],
} as const;

/**
 * A token core in memory with simple rules: `rs` with the secret `rs-secret:+ü` may introspect, tokens that begin with `live-` are active, and
 * a client named after a code of the catalogue is refused with it. `slow-N` takes N milliseconds.
 */
export function smallCore() {
  const seen: string[] = [];
  const revoked = new Set<string>();
  const implementation: TokenCoreImplementation = {
    async token({ client, grant }, { signal }) {
      const name = client?.clientId ?? "";
      seen.push(name);
      if (isCode(name)) throw new Refusal(name, "asked_for", FULL_DETAIL);
      if (name === "fault") throw new Error("the password of the database is hunter2");
      const wait = /^slow-(\d+)$/.exec(name)?.[1];
      if (wait) await sleep(Number(wait), undefined, { signal, ref: false });
      if (grant.case !== "clientCredentials") throw new Refusal("unsupported_grant_type", "only_client_credentials");
      return { accessToken: `live-${name}`, tokenType: "Bearer", expiresIn: 900, scope: grant.value.scope ?? "" };
    },
    async validateAuthorization({ request }) {
      return { outcome: { case: "error", value: { error: "invalid_scope", errorDescription: request?.clientId ?? "" } } };
    },
    async issueCode({ userId }) {
      return { code: `code-of-${userId}` };
    },
    async pushAuthorization({ request }) {
      return { requestUri: `urn:ietf:params:oauth:request_uri:${request?.state}`, expiresIn: 90 };
    },
    async openPushedRequest({ clientId, requestUri }) {
      return { request: { clientId, pushedRequest: requestUri } };
    },
    async authorizeDevice({ scope }) {
      return { deviceCode: `device-code-for-${scope}`, userCode: "BCDF-GHJK", expiresIn: 600, interval: 5 };
    },
    async findDeviceRequest({ userCode }) {
      return { deviceRequest: `request-of-${userCode}` };
    },
    async denyDeviceRequest() {
      return {};
    },
    async loginTokens({ userId }) {
      return { accessToken: `live-${userId}`, refreshToken: "0".repeat(64), expiresIn: 900, tokenType: "Bearer" };
    },
    async verifyApiKey({ client, key }) {
      if (client?.basic?.clientId !== "rs") throw new Refusal("invalid_client", "secret_wrong");
      return { state: key.startsWith("csk_") ? { active: true, clientId: "c", keyId: "k", scope: "a b" } : { active: false } };
    },
    async introspect({ client, tokens }) {
      seen.push(client?.address ?? "");
      const { clientId, clientSecret } = client?.basic ?? {};
      if (clientId !== "rs" || clientSecret !== "rs-secret:+ü") throw new Refusal("invalid_client", "secret_wrong");
      for (const token of tokens) {
        const wait = /^slow-(\d+)$/.exec(token)?.[1];
        if (wait) await sleep(Number(wait), undefined, { ref: false });
      }
      return {
        results: tokens.map((token) =>
          token.startsWith("live-") && !revoked.has(token)
            ? {
                active: true,
                sub: token.slice(5),
                clientId: "c",
                scope: "a b",
                aud: ["https://rs.example.test"],
                tokenType: "Bearer",
                exp: 2_000_000_000,
                act: { sub: "agent", act: { sub: "first" } },
              }
            : { active: false },
        ),
      };
    },
    async revoke({ token }) {
      revoked.add(token);
      return {};
    },
    async verifyAccessToken({ accessToken }) {
      return { sub: accessToken, clientId: "c", scopes: ["openid"], role: "developer" };
    },
    async publicKeys() {
      return { jwksJson: '{"keys":[]}' };
    },
    async resolveClient({ clientId }) {
      return { client: { clientId, name: "A client", openRegistration: true } };
    },
    async validateLogout({ idTokenHint }) {
      return { hintedSub: idTokenHint };
    },
    async explain({ subject }) {
      return { rules: [{ rule: subject.case ?? "none" }] };
    },
  };
  return { implementation, seen };
}

/** `rs` with a secret whose characters need form-encoding (RFC 6749 §2.3.1). */
export const RS_BASIC = `Basic ${Buffer.from("rs:rs-secret%3A%2B%C3%BC").toString("base64")}`;

export const clientCredentials = (clientId: string) => ({
  client: { clientId },
  grant: { case: "clientCredentials" as const, value: { scope: "a" } },
});
