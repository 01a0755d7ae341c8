import { z } from "zod";
import type { ZodOpenApiOperationObject } from "zod-openapi";
import { isRefusal, Refusal } from "../../errors.ts";
import type { TokenResponse } from "../../gen/countersign/token/v1/token_pb.ts";
import type { TokenCore } from "../../grpc/local.ts";
import { assertNoCredentialInQuery, type Form, parseClientCredential, parseForm } from "../../protocol/form.ts";
import { type GrantType, JWT_BEARER, parseGrant, TOKEN_EXCHANGE } from "../../protocol/grants.ts";
import { giveNonce, oauthErrorPrinter, sendJson, sentProof } from "../http/answers.ts";
import { formText } from "../http/body.ts";
import {
  assertionFields,
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
import { type ErrorPrinter, type HotContext, queryText, type Route } from "../http/routes.ts";

export interface TokenRouteOptions {
  readonly core: TokenCore;
  readonly issuer: string;
  /** The grants that are served, as the metadata advertises them. */
  readonly grantTypes: readonly GrantType[];
  /** Whether an operator trusts a platform, whose tokens are then served as jwt-bearer grants. */
  readonly trustsPlatforms: () => Promise<boolean>;
}

/** Reads the request; records an unreadable token exchange. @throws {Refusal} invalid_request, invalid_client, unsupported_grant_type */
async function readRequest(ctx: HotContext, options: TokenRouteOptions) {
  const { core, issuer, grantTypes, trustsPlatforms } = options;
  const text = await formText(ctx);
  try {
    assertNoCredentialInQuery(queryText(ctx));
    const form = parseForm(text);
    // Platforms matter only for jwt-bearer where it is not served anyway, and to list all grants for an unknown one.
    const known: readonly (string | undefined)[] = [undefined, ...grantTypes];
    const isSettled = known.includes(form.get("grant_type")) || known.includes(JWT_BEARER);
    const grant = parseGrant(form, !isSettled && (await trustsPlatforms()) ? [...grantTypes, JWT_BEARER] : grantTypes);
    const credential = parseClientCredential(ctx.req.headers.authorization, form, ctx.state.address);
    const hasProof = ctx.req.headers.dpop !== undefined;
    return { grant, client: hasProof ? { ...credential, dpop: sentProof(ctx, `${issuer}/oauth/token`) } : credential };
  } catch (error) {
    throw isRefusal(error) ? await recordedRefusal(error, text, ctx, core) : error;
  }
}

/** `POST /oauth/token`. @see RFC 6749 §3.2, docs/protocol.md#token-endpoint */
export const tokenRoute = (options: TokenRouteOptions): Route => ({
  method: "POST",
  path: "/oauth/token",
  hot: true,
  cors: true,
  print: tokenErrorPrinter(options.issuer),
  openapi: describeToken,
  async answer(ctx) {
    const { client, grant } = await readRequest(ctx, options);
    const response = await options.core.token({ client, requestId: ctx.state.requestId, grant }, { signal: ctx.state.signal });
    if (client.dpop !== undefined) assertBound(response);
    if (response.dpopNonce !== undefined) giveNonce(ctx, response.dpopNonce);
    sendJson(ctx, tokenResponseJson(response));
  },
});

/** A core of an earlier release ignores proofs. @throws {Refusal} invalid_request @see docs/protocol.md#releases-beside-each-other */
function assertBound({ tokenType }: TokenResponse): void {
  if (tokenType !== "Bearer") return;
  const description = "This server cannot bind tokens to a key yet. Try again later, or send the request without a DPoP header.";
  throw new Refusal("invalid_request", "core_reads_no_proof", { description });
}

/** `access_denied` is 400 here (RFC 8628 §3.5, RFC 6749 §5.2). */
function tokenErrorPrinter(issuer: string): ErrorPrinter<HotContext> {
  const print = oauthErrorPrinter(issuer);
  return (ctx, refusal) => {
    print(ctx, refusal);
    if (refusal?.code === "access_denied") ctx.status = 400;
  };
}

/** RFC 6749 §5.1, RFC 8693 §2.2.1. Absent members stay absent, since clients reject `null`. */
const tokenResponseJson = (response: TokenResponse) => ({
  access_token: response.accessToken,
  issued_token_type: response.issuedTokenType,
  token_type: response.tokenType,
  expires_in: response.expiresIn,
  refresh_token: response.refreshToken,
  id_token: response.idToken,
  scope: response.scope,
  pqc_signature: response.pqcSignature,
  pqc_alg: response.pqcAlg,
});

const describeToken = (): ZodOpenApiOperationObject => ({
  tags: ["OAuth"],
  summary: "Grants tokens",
  requestParams: { header: proofHeader("the token is bound to its key") },
  security: [{ clientBasic: [] }, {}],
  requestBody: form(tokenRequest()),
  responses: { "200": json("The tokens.", tokenResponse()), ...oauthErrors(), ...oauthBodyErrors() },
});

const tokenRequest = schema("TokenRequest", () => ({
  grant_type: z.string().meta({ example: "authorization_code" }),
  code: z.string().optional(),
  redirect_uri: z.string().optional(),
  device_code: z.string().optional(),
  code_verifier: z.string().optional().meta({ description: "43 to 128 characters of A-Z a-z 0-9 . _ ~ -" }),
  refresh_token: z.string().optional(),
  scope: scope().optional().meta({
    description:
      "Space-separated. In a token exchange only scopes of the agent's own allowlist are granted: one outside of it is invalid_scope; left out, those of the subject token that are in it.",
    example: "openid email",
  }),
  resource: resource(),
  audience: z.array(z.string()).optional().meta({ description: "Token exchange only; may be repeated." }),
  subject_token: z.string().optional(),
  subject_token_type: z.string().optional(),
  actor_token: z.string().optional(),
  actor_token_type: z.string().optional(),
  requested_token_type: z.string().optional(),
  assertion: z.string().optional(),
  ...credentialFields(),
  ...assertionFields(),
}));

const tokenResponse = schema("TokenResponse", () => ({
  access_token: z.string(),
  issued_token_type: z.string().optional().meta({ description: "Token exchange only." }),
  token_type: z.string().meta({ example: "Bearer", description: "`DPoP` for a token that is bound to a key." }),
  expires_in: seconds(),
  refresh_token: z.string().optional().meta({ description: "64 hexadecimal characters." }),
  id_token: z.string().optional(),
  scope: scope(),
  pqc_signature: z.string().optional().meta({ description: "ML-DSA-65, base64url; with PQC_TOKEN_DELIVERY=self-contained only." }),
  pqc_alg: z.string().optional(),
}));

/** Reads a form leniently: the first value of each parameter, however it is encoded. */
function lenientForm(text: string): Form & { readonly isExchange: boolean } {
  const parameters = new URLSearchParams(text);
  return {
    get: (name) => parameters.get(name) || undefined,
    all: () => [],
    isExchange: parameters.getAll("grant_type").includes(TOKEN_EXCHANGE),
  };
}

/** The client credential of the request; only the client_id if the credential cannot be read. */
function credentialOf(authorization: string | undefined, form: Form, address: string) {
  try {
    return parseClientCredential(authorization, form, address);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return { address, clientId: form.get("client_id") };
  }
}

/**
 * Has the core record a token exchange that could not be read: every exchange leaves an audit record.
 * @param text the body of the request
 * @returns why the request could not be read, or that no record could be written  @see docs/protocol.md#audit
 */
async function recordedRefusal(refusal: Refusal, text: string, { req, state }: HotContext, core: TokenCore): Promise<Refusal> {
  const form = lenientForm(text);
  if (!form.isExchange) return refusal;
  const client = credentialOf(req.headers.authorization, form, state.address);
  const { code: error, reason, detail } = refusal;
  const value = { error, reason, description: detail.description };
  try {
    await core.token({ client, requestId: state.requestId, grant: { case: "refusedTokenExchange", value } }, { signal: state.signal });
  } catch (answer) {
    if (!isRefusal(answer)) throw answer;
    // A core of an earlier release does not know this request and refuses it differently.
    if (answer.code === error || answer.code === "temporarily_unavailable") return answer;
  }
  return refusal;
}
