import { randomBytes } from "node:crypto";
import { MAIL_ADDRESS_LIMIT, MAILBOX_LIMIT } from "../accounts/caller.ts";
import { passwordAttempts } from "../accounts/password-attempts.ts";
import type { PasswordHashing } from "../accounts/password-hash.ts";
import { namedTargets } from "../clients/client.ts";
import { systemClock } from "../clock.ts";
import type { Config } from "../config.ts";
import { clientApiRoutes } from "../front/api/clients.ts";
import { trpcRoutes } from "../front/api/trpc.ts";
import type { Route } from "../front/http/routes.ts";
import type { Lifecycle } from "../front/http/steps.ts";
import { PENDING_RATE } from "../front/oauth/authorize.ts";
import { DEVICE_RATE, deviceAuthorizationRoute } from "../front/oauth/device-authorization.ts";
import { discoveryRoutes } from "../front/oauth/discovery.ts";
import { introspectRoute } from "../front/oauth/introspect.ts";
import { jwksRoute } from "../front/oauth/jwks.ts";
import { registerRoute } from "../front/oauth/register.ts";
import { revokeRoute } from "../front/oauth/revoke.ts";
import { tokenRoute } from "../front/oauth/token.ts";
import { userinfoRoutes } from "../front/oauth/userinfo.ts";
import { docsRoutes } from "../front/system/docs.ts";
import { healthRoutes, systemRoutes } from "../front/system/health.ts";
import { userRoutes, type WalletRoutes } from "../front/user-routes.ts";
import { walletOffRoutes } from "../front/wallet/routes.ts";
import type { TokenCore } from "../grpc/local.ts";
import type { ManagementPorts } from "../management/ports.ts";
import { servedGrantTypes } from "../protocol/grants.ts";
import { accountClosing } from "../store/account-closing.ts";
import { agentPauses } from "../store/agent-pauses.ts";
import { auditLog } from "../store/audit-log.ts";
import { clientDirectory } from "../store/client-directory.ts";
import { clientRegistry, managedClients } from "../store/clients.ts";
import { consents, scopeDescriptions } from "../store/consents.ts";
import { delegationRepository } from "../store/delegation-repository.ts";
import { monotonicSeconds } from "../store/ephemeral/memory.ts";
import { invitations } from "../store/invitations.ts";
import { passwordChanges } from "../store/password-changes.ts";
import { pendingRequests } from "../store/pending-requests.ts";
import { realms } from "../store/realms.ts";
import { offeredScopes, shownResources } from "../store/resources.ts";
import { sessions } from "../store/sessions.ts";
import { signInFailures } from "../store/sign-in-failures.ts";
import type { Sql } from "../store/sql.ts";
import { users } from "../store/users.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { FrontSurroundings } from "./front.ts";
import { managementPorts } from "./management.ts";

export interface RouteParts extends Pick<FrontSurroundings, "ephemeral" | "metrics" | "passwords" | "ready"> {
  readonly core: TokenCore;
  /** Whether a core answers this front. */
  readonly coreReady: () => Promise<boolean>;
  readonly alive: Lifecycle;
  readonly deployment: ManagementPorts["deployment"];
  readonly fault: (report: { readonly requestId: string; readonly route: string; readonly error: unknown }) => void;
  readonly wallets: WalletRoutes | undefined;
  /** Sends queued mails at once. */
  readonly wakeOutbox: () => void;
}

/** Every route of the front, and their OpenAPI description, which is built on first use. */
export function frontRoutes(config: Config, sql: Sql, parts: RouteParts) {
  const { issuer } = config;
  const { core, deployment, ephemeral, fault, metrics, passwords, ready, wallets } = parts;
  const mailing = mailingStores(sql, parts.wakeOutbox);
  const grantTypes = servedGrantTypes(config.idJag.enabled);
  const describeApi = async (): Promise<object> => (await import("../front/system/openapi.ts")).openApiDocument(issuer, routes);
  const routes: readonly Route[] = [
    tokenRoute({ core, issuer, grantTypes }),
    deviceAuthorizationRoute({ core, issuer, limiter: ephemeral.rateLimiter("device", DEVICE_RATE.points, DEVICE_RATE.seconds) }),
    introspectRoute({ core, issuer }),
    revokeRoute({ core, issuer }),
    ...userinfoRoutes({ core, issuer }),
    registerRoute({
      issuer,
      registry: clientRegistry(sql),
      realms: realms(sql),
      resources: offeredScopes(sql),
      limiter: ephemeral.rateLimiter("register", config.registration.rateLimit, config.registration.rateWindow),
      defaultScopes: config.registration.scopes,
      scopeMode: config.registration.dynamicClientScope,
      clock: systemClock,
      randomBytes,
    }),
    ...userRoutes({ ...userPorts(config, sql, parts), ...mailing, wallets, core, fault, issuer }),
    ...[clientApiRoutes, trpcRoutes].flatMap((routesOf) =>
      routesOf({ issuer, fault, ports: managementPorts(config, sql, core, passwords, deployment, mailing) }),
    ),
    ...discoveryRoutes({
      issuer,
      realms: realms(sql),
      resources: offeredScopes(sql),
      defaultScopes: config.registration.scopes,
      clock: systemClock,
      idTokenAlgorithms: config.keys.idTokenSigningAlg === "RS256" ? ["RS256", "EdDSA"] : ["EdDSA"],
      cimdEnabled: config.cimdEnabled,
      grantTypes,
    }),
    jwksRoute({ core, issuer, clock: systemClock }),
    ...healthRoutes({
      issuer,
      lifecycle: parts.alive,
      database: () => ready.writes().then(() => true),
      redis: ephemeral.ping,
      core: parts.coreReady,
    }),
    ...(wallets === undefined ? walletOffRoutes(issuer) : []),
    ...systemRoutes({ issuer, exposition: async () => ({ contentType: metrics.contentType, text: await metrics.text() }) }),
    ...docsRoutes({ issuer, describe: describeApi }),
  ];
  return { routes, describeApi };
}

/** The ports of the pages and account endpoints. */
function userPorts(config: Config, sql: Sql, { ephemeral, metrics, passwords }: RouteParts) {
  const limiter = (name: string, { points, seconds }: { readonly points: number; readonly seconds: number }) =>
    ephemeral.rateLimiter(name, points, seconds);
  return {
    passwords: counted(passwords, metrics),
    realms: realms(sql),
    sessions: sessions(sql),
    attempts: passwordAttempts(signInFailures(sql), monotonicSeconds),
    userCodeFailures: signInFailures(sql),
    consents: consents(sql),
    delegations: delegationRepository(sql),
    agentPauses: agentPauses(sql),
    scopeDescriptions: scopeDescriptions(sql),
    resources: shownResources(sql),
    refusals: auditLog(sql),
    pendingRequests: pendingRequests(sql),
    pendingRate: limiter("authorize", PENDING_RATE),
    clients: managedClients(sql),
    namedTargets: namedTargets(clientDirectory(sql)),
    signUpPolicy: config.signUp.policy,
    signUps: limiter("sign-up", { points: config.signUp.rateLimit, seconds: config.signUp.rateWindow }),
    resendLimits: { mailbox: limiter("resend-mailbox", MAILBOX_LIMIT), address: limiter("resend-address", MAIL_ADDRESS_LIMIT) },
    forgottenLimits: { mailbox: limiter("forgotten-mailbox", MAILBOX_LIMIT), address: limiter("forgotten-address", MAIL_ADDRESS_LIMIT) },
    sessionTtl: config.lifetimes.session,
    clock: systemClock,
    randomBytes,
  };
}

/** Stores that queue mails, and wake the outbox so that these leave at once. */
function mailingStores(sql: Sql, wake: () => void) {
  const waking =
    <Given extends readonly unknown[], Result>(verb: (...given: Given) => Promise<Result>) =>
    async (...given: Given): Promise<Result> => {
      const result = await verb(...given);
      wake();
      return result;
    };
  const [accounts, passwords, closing, invited] = [users(sql), passwordChanges(sql), accountClosing(sql), invitations(sql)];
  return {
    users: { ...accounts, register: waking(accounts.register), issueVerification: waking(accounts.issueVerification) },
    passwordChanges: {
      ...passwords,
      issueReset: waking(passwords.issueReset),
      reset: waking(passwords.reset),
      change: waking(passwords.change),
    },
    closing: { close: waking(closing.close) },
    invitations: { ...invited, issue: waking(invited.issue) },
  };
}

const counted = (passwords: PasswordHashing, metrics: Metrics): PasswordHashing => ({
  hash: passwords.hash,
  async verify(encoded, password, address) {
    const verdict = await passwords.verify(encoded, password, address);
    metrics.authentication(
      "login",
      verdict.kind === "right" ? "success" : "failure",
      verdict.kind === "right" ? undefined : "wrong_credentials",
    );
    return verdict;
  },
});
