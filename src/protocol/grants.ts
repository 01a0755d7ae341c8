import type { MessageInitShape } from "@bufbuild/protobuf";
import { Refusal } from "../errors.ts";
import type { TokenRequest, TokenRequestSchema } from "../gen/countersign/token/v1/token_pb.ts";
import type { Form } from "./form.ts";

type GrantInit = NonNullable<MessageInitShape<typeof TokenRequestSchema>["grant"]>;

/** The member of the `grant` oneof that carries a grant. */
export type GrantCase = Exclude<NonNullable<TokenRequest["grant"]["case"]>, "refusedTokenExchange">;

export type GrantParams<Case extends GrantCase> = Extract<TokenRequest["grant"], { case: Case }>["value"];

interface GrantRow<Member = string> {
  readonly grantType: string;
  /** The grant in metrics. */
  readonly label: string;
  /** Whether developers and open registrations may request it; operators give the others. */
  readonly selfService: boolean;
  /** Whether only authenticated clients may use it. */
  readonly confidential: boolean;
  /** Parameters by their names on the wire, beside `resource`, which every grant has. */
  readonly required: Readonly<Record<string, Member>>;
  readonly optional?: Readonly<Record<string, Member>>;
  readonly audience?: true;
  /** Whether a rule of the grant refuses authorization_details, because its refusals are recorded. */
  readonly details?: true;
}

/** There are no types of authorization details here; ignored, they would give the client more than it asked for. @see RFC 9396 §5 */
export const detailsRefused = (): Refusal =>
  new Refusal("invalid_authorization_details", "authorization_details_unsupported", {
    description: "authorization_details is not supported: use scope and resource.",
  });

/** All grants, for every use outside the core, which adds rules and a handler to each row (core/token-request.ts). */
export const GRANTS = {
  authorizationCode: {
    grantType: "authorization_code",
    label: "authorization_code",
    selfService: true,
    confidential: false,
    required: { code: "code", redirect_uri: "redirectUri", code_verifier: "codeVerifier" },
  },
  refreshToken: {
    grantType: "refresh_token",
    label: "refresh_token",
    selfService: true,
    confidential: false,
    required: { refresh_token: "refreshToken" },
    optional: { scope: "scope" },
  },
  clientCredentials: {
    grantType: "client_credentials",
    label: "client_credentials",
    selfService: true,
    confidential: true,
    required: {},
    optional: { scope: "scope" },
  },
  tokenExchange: {
    grantType: "urn:ietf:params:oauth:grant-type:token-exchange",
    label: "token_exchange",
    selfService: false,
    confidential: true,
    required: { subject_token: "subjectToken", subject_token_type: "subjectTokenType" },
    optional: {
      actor_token: "actorToken",
      actor_token_type: "actorTokenType",
      requested_token_type: "requestedTokenType",
      scope: "scope",
    },
    audience: true,
    details: true,
  },
  jwtBearer: {
    grantType: "urn:ietf:params:oauth:grant-type:jwt-bearer",
    label: "jwt_bearer",
    selfService: false,
    confidential: true,
    required: { assertion: "assertion" },
    optional: { scope: "scope" },
    details: true,
  },
  deviceCode: {
    grantType: "urn:ietf:params:oauth:grant-type:device_code",
    label: "device_code",
    selfService: true,
    confidential: false,
    required: { device_code: "deviceCode" },
  },
} as const satisfies { readonly [Case in GrantCase]: GrantRow<keyof GrantParams<Case>> };

type Row = (typeof GRANTS)[GrantCase];
export type GrantType = Row["grantType"];

const rows: readonly Row[] = Object.values(GRANTS);

export const GRANT_TYPES: readonly GrantType[] = rows.map(({ grantType }) => grantType);
export const TOKEN_EXCHANGE = GRANTS.tokenExchange.grantType;
export const JWT_BEARER = GRANTS.jwtBearer.grantType;
export const DEVICE_CODE = GRANTS.deviceCode.grantType;

/** The grants by which a user gives a client access in a browser. */
export const USER_GRANT_TYPES: readonly GrantType[] = [GRANTS.authorizationCode.grantType, DEVICE_CODE];

/** The grants that developers and open registrations may request. @see docs/protocol.md#registration */
export const SELF_SERVICE_GRANT_TYPES = rows
  .filter((row): row is Extract<Row, { selfService: true }> => row.selfService)
  .map(({ grantType }) => grantType);

/** The grants that a public client cannot use. */
export const CONFIDENTIAL_GRANT_TYPES: readonly GrantType[] = rows.filter((row) => row.confidential).map(({ grantType }) => grantType);

/** The label of a first-party sign-in, which issues tokens without a grant type. */
export const LOGIN_LABEL = "login";

export const GRANT_LABELS: readonly string[] = [...rows.map(({ label }) => label), LOGIN_LABEL];

/** The grants that the token endpoint serves and the metadata advertises. @param idJagEnabled ID_JAG_ENABLED */
export const servedGrantTypes = (idJagEnabled: boolean): readonly GrantType[] =>
  GRANT_TYPES.filter((grantType) => idJagEnabled || grantType !== JWT_BEARER);

const CASES = new Map<string, GrantCase>(Object.entries(GRANTS).map(([name, { grantType }]) => [grantType, name as GrantCase]));

/** The oneof member of a `grant_type`; undefined for a value that is not a grant of this service. */
export const grantCaseOf = (grantType: string): GrantCase | undefined => CASES.get(grantType);

/**
 * Reads the grant of a token request. Missing parameters are left out: `assertGrantComplete` refuses them once the client is known.
 * @param served the grants that the metadata advertises
 * @throws {Refusal} invalid_request without `grant_type`, unsupported_grant_type, invalid_authorization_details
 * @see RFC 6749 §4, RFC 8693 §2.1, RFC 7523 §2.1
 */
export function parseGrant(form: Form, served: readonly string[]): GrantInit {
  const grantType = form.get("grant_type");
  if (grantType === undefined) throw new Refusal("invalid_request", "grant_type_missing", { description: "grant_type is missing." });
  const name = served.includes(grantType) ? CASES.get(grantType) : undefined;
  if (name === undefined) {
    const description = `grant_type must be one of ${served.join(", ")}.`;
    throw new Refusal("unsupported_grant_type", "grant_type_unsupported", { description });
  }
  const { required, optional, audience, details }: GrantRow = GRANTS[name];
  const hasDetails = form.get("authorization_details") !== undefined;
  if (hasDetails && !details) throw detailsRefused();
  const value: { [member: string]: unknown } = { resource: form.all("resource") };
  for (const [parameter, member] of Object.entries({ ...required, ...optional })) value[member] = form.get(parameter);
  if (audience) value.audience = form.all("audience");
  if (hasDetails) value.authorizationDetailsPresent = true;
  // Case and members come from the same row.
  return { case: name, value } as GrantInit;
}

/** Refuses a grant that lacks a required parameter. Called for authenticated clients that may use it. @throws {Refusal} invalid_request */
export function assertGrantComplete({ grant }: Pick<TokenRequest, "grant">): void {
  if (grant.case === undefined || grant.case === "refusedTokenExchange") return;
  const { required }: GrantRow = GRANTS[grant.case];
  for (const name in required) {
    if (Reflect.get(grant.value, required[name] ?? "") === "")
      throw new Refusal("invalid_request", `${name}_missing`, { description: `${name} is missing.` });
  }
}
