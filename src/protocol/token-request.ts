import type { MessageInitShape } from "@bufbuild/protobuf";
import { Refusal } from "../errors.ts";
import type { TokenRequest, TokenRequestSchema } from "../gen/countersign/token/v1/token_pb.ts";
import type { Form } from "./form.ts";

/** The grant of a token request as it goes to the core. */
type Grant = NonNullable<MessageInitShape<typeof TokenRequestSchema>["grant"]>;

const TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/**
 * Reads the grant of a token request. A grant that the service does not have is refused here, before the client is authenticated, so that
 * everybody gets the same answer. Missing parameters are left empty: `assertGrantComplete` refuses them once the client is known.
 * @param served the grants that the metadata advertises too
 * @throws {Refusal} invalid_request without `grant_type`, unsupported_grant_type
 * @see RFC 6749 §4, RFC 8693 §2.1, RFC 7523 §2.1, specification §4.7
 */
export function parseGrant(form: Form, served: readonly string[]): Grant {
  const { get } = form;
  const grantType = get("grant_type");
  if (grantType === undefined) throw new Refusal("invalid_request", "grant_type_missing", { description: "grant_type is missing." });
  const unsupported = (reason: string) =>
    new Refusal("unsupported_grant_type", reason, { description: `grant_type must be one of ${served.join(", ")}.` });
  if (!served.includes(grantType)) throw unsupported("grant_type_unsupported");
  const scope = get("scope");
  const resource = [...form.all("resource")];
  const needed = (name: string): string => get(name) ?? "";
  switch (grantType) {
    case "authorization_code": {
      const value = { code: needed("code"), redirectUri: needed("redirect_uri"), codeVerifier: needed("code_verifier"), resource };
      return { case: "authorizationCode", value };
    }
    case "refresh_token":
      return { case: "refreshToken", value: { refreshToken: needed("refresh_token"), scope, resource } };
    case "client_credentials":
      return { case: "clientCredentials", value: { scope, resource } };
    case TOKEN_EXCHANGE:
      return { case: "tokenExchange", value: parseTokenExchange(form) };
    case JWT_BEARER:
      return { case: "jwtBearer", value: { assertion: needed("assertion"), scope, resource, ...detailed(form) } };
    default:
      throw unsupported("grant_type_unreadable");
  }
}

function parseTokenExchange(form: Form): Extract<Grant, { case: "tokenExchange" }>["value"] {
  const { get, all } = form;
  return {
    subjectToken: get("subject_token") ?? "",
    subjectTokenType: get("subject_token_type") ?? "",
    actorToken: get("actor_token"),
    actorTokenType: get("actor_token_type"),
    scope: get("scope"),
    resource: [...all("resource")],
    audience: [...all("audience")],
    requestedTokenType: get("requested_token_type"),
    ...detailed(form),
  };
}

const detailed = ({ get }: Form) => (get("authorization_details") === undefined ? {} : { authorizationDetailsPresent: true });

/**
 * Refuses a grant that lacks a parameter without which it cannot be judged. To be asked after the client has been authenticated and may
 * use the grant: who is not known is told nothing about parameters.
 * @throws {Refusal} invalid_request
 */
export function assertGrantComplete(grant: TokenRequest["grant"]): void {
  for (const [name, value] of requiredOf(grant)) {
    if (value === "") throw new Refusal("invalid_request", `${name}_missing`, { description: `${name} is missing.` });
  }
}

function requiredOf(grant: TokenRequest["grant"]): readonly (readonly [string, string])[] {
  switch (grant.case) {
    case "authorizationCode":
      return [
        ["code", grant.value.code],
        ["redirect_uri", grant.value.redirectUri],
        ["code_verifier", grant.value.codeVerifier],
      ];
    case "refreshToken":
      return [["refresh_token", grant.value.refreshToken]];
    case "tokenExchange":
      return [
        ["subject_token", grant.value.subjectToken],
        ["subject_token_type", grant.value.subjectTokenType],
      ];
    case "jwtBearer":
      return [["assertion", grant.value.assertion]];
    case "clientCredentials":
    case "refusedTokenExchange":
    case undefined:
      return [];
  }
}
