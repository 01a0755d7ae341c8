import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Client } from "../../clients/client.ts";
import { Refusal } from "../../errors.ts";
import type {
  AuthorizationCodeGrant,
  ClientCredentialsGrant,
  JwtBearerGrant,
  RefreshTokenGrant,
  TokenExchangeGrant,
  TokenRequest,
  WouldBeGrantedSchema,
} from "../../gen/countersign/token/v1/token_pb.ts";
import type { GrantType } from "../../protocol/grants.ts";
import { printScope } from "../../protocol/scope.ts";
import { hashSecret } from "../../secret.ts";
import type { Core } from "../core.ts";
import { CODE_RULES, decideCode } from "../grants/authorization-code/rules.ts";
import { CLIENT_CREDENTIALS_RULES, decideClientCredentials } from "../grants/client-credentials/grant.ts";
import { assertSignedByIssuer } from "../grants/jwt-bearer/assertion.ts";
import { identityOf, readAssertionOf, servedPorts, withoutDetails } from "../grants/jwt-bearer/grant.ts";
import {
  ASSERTION_GRANT_RULES,
  ASSERTION_READ,
  ASSERTION_RULES,
  ASSERTION_SIGNED,
  ASSERTION_UNUSED,
  decideIdentityAssertion,
  GRANT_SERVED,
  USER_ENABLED,
} from "../grants/jwt-bearer/rules.ts";
import { decideRefresh, REFRESH_RULES } from "../grants/refresh-token/rules.ts";
import { exchangeFacts } from "../grants/token-exchange/grant.ts";
import { ACCESS_TOKEN_TYPE, ID_JAG_TYPE, REQUEST_RULES } from "../grants/token-exchange/request-rules.ts";
import { decideExchange, TOKEN_RULES } from "../grants/token-exchange/rules.ts";
import { actorsOf } from "../policy/delegation.ts";
import { GRANT_RULES } from "../policy/grant-type.ts";
import { tokenLifetime } from "../policy/lifetime.ts";
import type { Prefetched } from "../token-request-context.ts";
import { ASSERTION_LIFETIME } from "../tokens/identity-assertion.ts";
import { openTrace, type RuleTrace } from "./rule-trace.ts";

type WouldBeGranted = MessageInitShape<typeof WouldBeGrantedSchema>;

/** What came of a hearing. */
export interface Evaluated {
  readonly hearing: RuleTrace;
  /** Undefined when something was refused. */
  readonly granted: WouldBeGranted | undefined;
}

/** An access token with the lifetime of the deployment. */
const granting = (scopes: readonly string[], audience: readonly string[], core: Core): WouldBeGranted => ({
  scope: printScope(scopes),
  aud: [...audience],
  expiresIn: core.lifetimes.accessToken,
  issuedTokenType: ACCESS_TOKEN_TYPE,
});

/**
 * Judges a grant by the rules of its own file, on what is in the stores at this moment. Reads alone.
 * @param client undefined when the hearing has come to a refusal before
 */
export async function traceGrant(
  hearing: RuleTrace,
  grant: TokenRequest["grant"],
  client: Client | undefined,
  ground: Prefetched,
  core: Core,
): Promise<Evaluated> {
  const heard = (granted: WouldBeGranted | undefined): Evaluated => ({ hearing, granted });
  const common = (grantType: GrantType) => hearing.hear(GRANT_RULES, client && { client, grantType, grant });
  switch (grant.case) {
    case "authorizationCode":
      await common("authorization_code");
      return heard(await traceCode(hearing, grant.value, client, ground, core));
    case "refreshToken":
      await common("refresh_token");
      return heard(await traceRefresh(hearing, grant.value, client, ground, core));
    case "clientCredentials":
      await common("client_credentials");
      return heard(await traceClientCredentials(hearing, grant.value, client, core));
    case "tokenExchange":
      return heard(await traceExchange(hearing, grant.value, client, core));
    case "jwtBearer":
      return traceAssertion(hearing, grant.value, client, core);
    case "refusedTokenExchange":
    case undefined:
      throw new Refusal("unsupported_grant_type", "grant_missing");
  }
}

async function traceCode(hearing: RuleTrace, grant: AuthorizationCodeGrant, client: Client | undefined, ground: Prefetched, core: Core) {
  const found = hearing.isOpen() && client ? { client, grant, code: await ground.code() } : undefined;
  const facts = await hearing.hear(CODE_RULES, found);
  const decision = facts && decideCode(facts.code, facts.client, grant);
  if (decision?.kind !== "redeem" || client === undefined) return undefined;
  const { userId: sub, scopes } = decision.code;
  const refreshToken = client.grantTypes.includes("refresh_token");
  return { ...granting(scopes, decision.audience, core), sub, refreshToken, idToken: scopes.includes("openid") };
}

async function traceRefresh(hearing: RuleTrace, grant: RefreshTokenGrant, client: Client | undefined, ground: Prefetched, core: Core) {
  const grace = { seconds: core.lifetimes.refreshReuseGrace, successor: hashSecret(core.successor(grant)) };
  const found = hearing.isOpen() && client ? { client, grant, grace, family: await ground.family() } : undefined;
  const facts = await hearing.hear(REFRESH_RULES, found);
  const decision = facts && decideRefresh(facts.family, facts.client, grant, grace);
  if (decision === undefined || decision.kind === "replay") return undefined;
  return { ...granting(decision.scopes, decision.audience, core), sub: decision.family.subject.userId, refreshToken: true };
}

async function traceClientCredentials(hearing: RuleTrace, grant: ClientCredentialsGrant, client: Client | undefined, core: Core) {
  const facts = await hearing.hear(CLIENT_CREDENTIALS_RULES, client && { client, grant });
  if (facts === undefined) return undefined;
  const { scopes, audience } = decideClientCredentials(facts.client, grant);
  return { ...granting(scopes, audience, core), sub: facts.client.clientId };
}

async function traceExchange(hearing: RuleTrace, grant: TokenExchangeGrant, client: Client | undefined, core: Core) {
  const asked = await hearing.hear(REQUEST_RULES, client && { client, grant });
  const facts = await hearing.hear(TOKEN_RULES, asked && (await exchangeFacts(grant, asked.client, core)));
  if (facts === undefined) return undefined;
  const { kind, subject, scopes, audience, act } = decideExchange(facts);
  const configured = kind === "id_jag" ? ASSERTION_LIFETIME : core.lifetimes.accessToken;
  return {
    ...granting(scopes, audience, core),
    sub: subject.claims.sub,
    actors: [...actorsOf(act)],
    expiresIn: tokenLifetime(configured, subject.claims.exp, subject.state.now),
    issuedTokenType: kind === "id_jag" ? ID_JAG_TYPE : ACCESS_TOKEN_TYPE,
  };
}

async function traceAssertion(before: RuleTrace, grant: JwtBearerGrant, client: Client | undefined, core: Core): Promise<Evaluated> {
  const ports = await before.learn(GRANT_SERVED, () => servedPorts(core));
  const asked = await before.hear(ASSERTION_GRANT_RULES, client && { client, grant });
  const hearing = openTrace(withoutDetails, before);
  const assertion = await hearing.learn(ASSERTION_READ, () => readAssertionOf(grant, ports ?? servedPorts(core), core));
  await hearing.learn(ASSERTION_SIGNED, async () => assertion && ports && assertSignedByIssuer(assertion, ports.keys));
  const found = asked &&
    assertion &&
    ports && { ...asked, assertion, issuer: core.issuer, maxLifetime: ports.maxLifetime, now: core.clock() };
  const facts = await hearing.hear(ASSERTION_RULES, found);
  const decision = facts && decideIdentityAssertion(facts);
  const identity = facts && decision && identityOf(facts.assertion, decision, facts.client, core);
  const outlook = identity && (await ports?.assertions.outlook(identity));
  const refuseWhen = (wrong: boolean | undefined, reason: string) => () => {
    if (wrong !== false) throw new Refusal("invalid_grant", reason);
  };
  await hearing.learn(USER_ENABLED, refuseWhen(outlook && !outlook.enabled, "user_disabled"));
  await hearing.learn(ASSERTION_UNUSED, refuseWhen(outlook?.used, "assertion_replayed"));
  const granted = decision && { ...granting(decision.scopes, decision.audience, core), actors: [...actorsOf(decision.act)] };
  return { hearing, granted: hearing.isOpen() ? granted : undefined };
}
