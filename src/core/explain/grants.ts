import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Client, GrantType } from "../../clients/client.ts";
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
import { printScope } from "../../protocol/scope.ts";
import { hashSecret } from "../../secret.ts";
import type { Core } from "../core.ts";
import type { Ground } from "../document-client.ts";
import { CLIENT_CREDENTIALS_RULES, decideClientCredentials } from "../grants/client-credentials.ts";
import { identityOf, readAssertionOf, servedPorts, toldBare } from "../grants/jwt-bearer.ts";
import { exchangeFacts } from "../grants/token-exchange.ts";
import { assertSignedByIssuer } from "../identity-assertion.ts";
import {
  ASSERTION_GRANT_RULES,
  ASSERTION_READ,
  ASSERTION_RULES,
  ASSERTION_SIGNED,
  ASSERTION_UNUSED,
  decideIdentityAssertion,
  GRANT_SERVED,
  PERSON_ENABLED,
} from "../policy/assertion-grant.ts";
import { CODE_RULES, decideCode } from "../policy/authorization-code.ts";
import { actorsOf } from "../policy/delegation.ts";
import { decideExchange, TOKEN_RULES } from "../policy/exchange.ts";
import { ACCESS_TOKEN_TYPE, ID_JAG_TYPE, REQUEST_RULES } from "../policy/exchange-request.ts";
import { GRANT_RULES } from "../policy/grant-type.ts";
import { tokenLifetime } from "../policy/lifetime.ts";
import { decideRefresh, REFRESH_RULES } from "../policy/refresh-token.ts";
import { ASSERTION_LIFETIME } from "../tokens/identity-assertion.ts";
import { type Hearing, openHearing } from "./hearing.ts";

type WouldBeGranted = MessageInitShape<typeof WouldBeGrantedSchema>;

/** What came of a hearing. */
export interface Heard {
  readonly hearing: Hearing;
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
export async function hearGrant(
  hearing: Hearing,
  grant: TokenRequest["grant"],
  client: Client | undefined,
  ground: Ground,
  core: Core,
): Promise<Heard> {
  const heard = (granted: WouldBeGranted | undefined): Heard => ({ hearing, granted });
  const common = (grantType: GrantType) => hearing.hear(GRANT_RULES, client && { client, grantType, grant });
  switch (grant.case) {
    case "authorizationCode":
      await common("authorization_code");
      return heard(await hearCode(hearing, grant.value, client, ground, core));
    case "refreshToken":
      await common("refresh_token");
      return heard(await hearRefresh(hearing, grant.value, client, ground, core));
    case "clientCredentials":
      await common("client_credentials");
      return heard(await hearClientCredentials(hearing, grant.value, client, core));
    case "tokenExchange":
      return heard(await hearExchange(hearing, grant.value, client, core));
    case "jwtBearer":
      return hearAssertion(hearing, grant.value, client, core);
    case "refusedTokenExchange":
    case undefined:
      throw new Refusal("unsupported_grant_type", "grant_missing");
  }
}

async function hearCode(hearing: Hearing, grant: AuthorizationCodeGrant, client: Client | undefined, ground: Ground, core: Core) {
  const found = hearing.isOpen() && client ? { client, grant, code: await ground.code() } : undefined;
  const facts = await hearing.hear(CODE_RULES, found);
  const decision = facts && decideCode(facts.code, facts.client, grant);
  if (decision?.kind !== "redeem" || client === undefined) return undefined;
  const { userId: sub, scopes } = decision.code;
  const refreshToken = client.grantTypes.includes("refresh_token");
  return { ...granting(scopes, decision.audience, core), sub, refreshToken, idToken: scopes.includes("openid") };
}

async function hearRefresh(hearing: Hearing, grant: RefreshTokenGrant, client: Client | undefined, ground: Ground, core: Core) {
  const grace = { seconds: core.lifetimes.refreshReuseGrace, successor: hashSecret(core.successor(grant)) };
  const found = hearing.isOpen() && client ? { client, grant, grace, family: await ground.family() } : undefined;
  const facts = await hearing.hear(REFRESH_RULES, found);
  const decision = facts && decideRefresh(facts.family, facts.client, grant, grace);
  if (decision === undefined || decision.kind === "replay") return undefined;
  return { ...granting(decision.scopes, decision.audience, core), sub: decision.family.subject.userId, refreshToken: true };
}

async function hearClientCredentials(hearing: Hearing, grant: ClientCredentialsGrant, client: Client | undefined, core: Core) {
  const facts = await hearing.hear(CLIENT_CREDENTIALS_RULES, client && { client, grant });
  if (facts === undefined) return undefined;
  const { scopes, audience } = decideClientCredentials(facts.client, grant);
  return { ...granting(scopes, audience, core), sub: facts.client.clientId };
}

async function hearExchange(hearing: Hearing, grant: TokenExchangeGrant, client: Client | undefined, core: Core) {
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

async function hearAssertion(before: Hearing, grant: JwtBearerGrant, client: Client | undefined, core: Core): Promise<Heard> {
  const ports = await before.learn(GRANT_SERVED, () => servedPorts(core));
  const asked = await before.hear(ASSERTION_GRANT_RULES, client && { client, grant });
  const hearing = openHearing(toldBare, before);
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
  await hearing.learn(PERSON_ENABLED, refuseWhen(outlook && !outlook.enabled, "user_disabled"));
  await hearing.learn(ASSERTION_UNUSED, refuseWhen(outlook?.used, "assertion_replayed"));
  const granted = decision && { ...granting(decision.scopes, decision.audience, core), actors: [...actorsOf(decision.act)] };
  return { hearing, granted: hearing.isOpen() ? granted : undefined };
}
