import { type Client, isConfidential, isNotifiedOfLogout } from "../../../clients/client.ts";
import { Refusal } from "../../../errors.ts";
import { GRANTS, type GrantType } from "../../../protocol/grants.ts";
import { hashSecret, newHexSecret, newId, type SecretHash } from "../../../random.ts";
import { ENFORCED } from "../../policy/rule.ts";
import type { Core } from "../../ports.ts";
import { signJwt } from "../../signing/jws.ts";
import { idTokenKey } from "../../signing/key-ring.ts";
import type { CodeState, Confirmation, NewFamily, NewGrant } from "../../stored-grants.ts";
import { newJti, signInClaims } from "../../tokens/access-token.ts";
import { idTokenClaims } from "../../tokens/id-token.ts";
import {
  accessTokenAnswer,
  GRANT_RULES,
  type Grant,
  type GrantRequest,
  issueRecord,
  previewOf,
  refusalRecord,
  type TokenAnswer,
  type WouldBeGranted,
} from "../grant.ts";
import { type Bound, CODE_RULES, CODE_UNEXPIRED, decideCode, keyOf } from "./rules.ts";

type Request = GrantRequest<"authorizationCode">;
type Decision = ReturnType<typeof decideCode>;

const { grantType } = GRANTS.authorizationCode;

const factsOf = ({ client, grant, confirmation }: Request) => ({ client, params: grant.value, confirmation });

async function decide(request: Request, trace = ENFORCED): Promise<Decision> {
  for (const rule of GRANT_RULES) trace.check(rule, request);
  return decideCode(await request.prefetched.code, factsOf(request), trace);
}

/** Commits the revocation of the grant that a code was redeemed for, then refuses. */
async function revokeReplayed(
  { grantId, refusal }: Extract<Decision, { kind: "replay" }>,
  { client, requestId }: Request,
  core: Core,
): Promise<never> {
  const { clientId } = client;
  await core.grants.revoke(grantId, refusalRecord("code.replayed", refusal, { clientId, grantType, grantId, requestId }));
  throw refusal;
}

async function redeem(decision: Extract<Decision, { kind: "redeem" }>, request: Request, core: Core) {
  const codeHash = hashSecret(request.grant.value.code);
  const answer = await redeemCode({ ...decision, codeHash, grantType }, request, core);
  if (answer !== undefined) return answer;
  const later = decideCode(await core.codes.byHash(codeHash), factsOf(request));
  if (later.kind === "replay") return revokeReplayed(later, request, core);
  throw new Refusal("invalid_grant", "code_expired", { rule: CODE_UNEXPIRED.name });
}

interface Redemption extends Bound {
  readonly codeHash: SecretHash;
  readonly code: CodeState;
  readonly grantType: GrantType;
}

/**
 * Uses up a code and issues the tokens that its user allowed.
 * @returns undefined when the code has been used or has expired, or user or client is disabled
 */
export async function redeemCode(
  { codeHash, code, bound, audience, terms, grantType }: Redemption,
  { client, requestId, confirmation: cnf }: Pick<GrantRequest, "client" | "requestId" | "confirmation">,
  core: Core,
): Promise<TokenAnswer | undefined> {
  const { clientId } = client;
  const { userId, scopes, authTime, authentication } = code;
  const opening = { id: newId(core.clock, core.randomBytes), clientId, userId, scopes, audience: bound, authTime };
  const opened: NewGrant = { ...opening, ...(authentication && { authentication }) };
  const jti = newJti(core.randomBytes, opened.id);
  const refresh = client.grantTypes.includes("refresh_token") ? newRefresh(core, isConfidential(client) ? undefined : cnf) : undefined;
  const audit = issueRecord("user", { userId, clientId, grantType, scopes, audience, jti, grantId: opened.id, requestId });
  if (isNotifiedOfLogout(client)) await core.logoutSubscriptions.subscribe(code.sessionId, clientId);
  if (!(await core.codes.redeem(codeHash, opened, refresh?.family, audit))) return undefined;
  const signedIn = signInClaims(authentication, authTime);
  const [answer, idToken] = await Promise.all([
    accessTokenAnswer({ subject: userId, client, scopes, audience, jti, terms, cnf, signedIn }, core),
    scopes.includes("openid") ? idTokenFor(code, client, core) : undefined,
  ]);
  return { ...answer, ...(refresh && { refreshToken: refresh.token }), ...(idToken !== undefined && { idToken }) };
}

export const previewOfCode = (
  { code, audience, terms }: Pick<Redemption, "code" | "audience" | "terms">,
  { client }: Pick<GrantRequest, "client">,
  core: Core,
): WouldBeGranted => ({
  ...previewOf(code.scopes, audience, core, terms),
  sub: code.userId,
  refreshToken: client.grantTypes.includes("refresh_token"),
  idToken: code.scopes.includes("openid"),
});

/**
 * Makes a refresh token and the family that it begins.
 * @param cnf binds the family to a key; refresh tokens of confidential clients are bound by their authentication (RFC 9449 §5)
 */
export function newRefresh(core: Core, cnf?: Confirmation): { readonly token: string; readonly family: NewFamily } {
  const token = newHexSecret(core.randomBytes);
  const { refreshToken: ttl, refreshFamilyMax: maxAge } = core.lifetimes;
  return { token, family: { id: newId(core.clock, core.randomBytes), tokenHash: hashSecret(token), ttl, maxAge, ...(cnf && { cnf }) } };
}

function idTokenFor(code: CodeState, client: Client, core: Core): Promise<string> {
  const claims = idTokenClaims({
    issuer: core.issuer,
    subject: code.subject,
    clientId: client.clientId,
    scopes: code.scopes,
    authTime: code.authTime,
    nonce: code.nonce,
    authentication: code.authentication,
    ...(isNotifiedOfLogout(client) && { sid: code.sessionId }),
    now: core.clock(),
    lifetime: core.lifetimes.idToken,
  });
  return signJwt(claims, "JWT", idTokenKey(core.keys, client));
}

export const authorizationCode: Grant<"authorizationCode"> = {
  rules: [...GRANT_RULES, ...CODE_RULES],

  async issue(request, core) {
    const decision = await decide(request);
    return decision.kind === "replay" ? revokeReplayed(decision, request, core) : redeem(decision, request, core);
  },

  async preview(request, core, trace) {
    // Only the client can make a proof, so that one is assumed.
    const confirmation = request.confirmation ?? keyOf(await request.prefetched.code);
    const decision = await decide({ ...request, ...(confirmation && { confirmation }) }, trace);
    if (decision.kind === "replay") throw decision.refusal;
    return previewOfCode(decision, request, core);
  },
};
