import { randomBytes } from "node:crypto";
import { relyingParty } from "../accounts/authenticators/webauthn.ts";
import { MAIL_ADDRESS_LIMIT, MAILBOX_LIMIT } from "../accounts/caller.ts";
import { passwordAttempts } from "../accounts/password-attempts.ts";
import type { PasswordHashing } from "../accounts/password-hash.ts";
import type { Brandings } from "../branding/branding.ts";
import { clientsAmong } from "../clients/find-client.ts";
import { issuerKeys, remoteKeys } from "../clients/remote-keys.ts";
import type { Clock } from "../clock.ts";
import type { Config } from "../config.ts";
import { clientApiRoutes } from "../front/api/clients.ts";
import { trpcRoutes } from "../front/api/trpc.ts";
import { consoleRoutes } from "../front/console/routes.ts";
import type { Route } from "../front/http/routes.ts";
import type { Lifecycle } from "../front/http/steps.ts";
import { PENDING_RATE } from "../front/oauth/authorize.ts";
import { DEVICE_RATE, deviceAuthorizationRoute, PUSH_RATE, pushRoute } from "../front/oauth/client-requests.ts";
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
import { loadOnce } from "../load-once.ts";
import type { ManagementPorts } from "../management/ports.ts";
import { guardedFetch } from "../outside/guarded-fetch.ts";
import { servedGrantTypes } from "../protocol/grants.ts";
import type { SecretBox } from "../secret-box.ts";
import { auditLog } from "../store/audit-log.ts";
import { pendingRequests } from "../store/authorization-requests.ts";
import { clientDirectory, managedClients } from "../store/clients.ts";
import { connections } from "../store/connections.ts";
import { scopeDescriptions } from "../store/consents.ts";
import { monotonicSeconds } from "../store/ephemeral/memory.ts";
import { proofChallenges } from "../store/proof-challenges.ts";
import { realms } from "../store/realms.ts";
import { offeredScopes, shownResources } from "../store/resources.ts";
import { knownDevices, signInFailures } from "../store/sign-in-failures.ts";
import type { Sql } from "../store/sql.ts";
import { linkedWallets } from "../store/wallet-links.ts";
import { workloadDirectory } from "../store/workloads.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { Providers } from "../upstream/ports.ts";
import type { Surroundings } from "./core.ts";
import { vaultOf } from "./keys.ts";
import { accountStores, managementPorts } from "./management.ts";
import { reachesLoopback } from "./opening.ts";

export interface RouteParts extends Pick<Surroundings, "ephemeral" | "metrics" | "ready" | "databaseClock" | "diskIsFull" | "failed"> {
  readonly passwords: PasswordHashing;
  readonly core: TokenCore;
  readonly coreReady: () => Promise<boolean>;
  readonly alive: Lifecycle;
  readonly deployment: Pick<ManagementPorts, "deployment" | "settings">;
  readonly fault: (report: { readonly requestId: string; readonly route: string; readonly error: unknown }) => void;
  readonly wallets: WalletRoutes | undefined;
  readonly brandings: Brandings & { readonly refresh: () => Promise<void> };
  /** Sends queued mails at once. */
  readonly wakeOutbox: () => void;
}

/** Every route of the front, and their OpenAPI description, which is built on first use. */
export function frontRoutes(config: Config, sql: Sql, parts: RouteParts) {
  const { issuer } = config;
  const { core, ephemeral, fault, metrics, ready } = parts;
  const clock = parts.databaseClock.seconds;
  const users = userPorts(config, sql, parts);
  const grantTypes = servedGrantTypes(config.idJag.enabled);
  const { configured: trustsPlatforms } = workloadDirectory(sql);
  const describeApi = async (): Promise<object> => (await import("../front/system/openapi.ts")).openApiDocument(issuer, routes);
  const live = { draining: () => parts.alive.draining, failed: parts.failed };
  const management = managementPorts(config, sql, { ...users, ...parts.deployment, brandings: parts.brandings }, live);
  const routes: readonly Route[] = [
    tokenRoute({ core, issuer, grantTypes, trustsPlatforms }),
    deviceAuthorizationRoute({ core, issuer, limiter: ephemeral.rateLimiter("device", DEVICE_RATE) }),
    pushRoute({ core, issuer, limiter: ephemeral.rateLimiter("push", PUSH_RATE) }),
    introspectRoute({ core, issuer }),
    revokeRoute({ core, issuer }),
    ...userinfoRoutes({ core, issuer }),
    registerRoute({
      issuer,
      registry: managedClients(sql),
      realms: realms(sql),
      resources: offeredScopes(sql),
      limiter: ephemeral.rateLimiter("register", config.registration.rate),
      defaultScopes: config.registration.scopes,
      scopeMode: config.registration.dynamicClientScope,
      clock,
      randomBytes,
    }),
    ...userRoutes({ ...users, wallets: parts.wallets }),
    ...[clientApiRoutes, trpcRoutes].flatMap((routesOf) => routesOf({ issuer, fault, ports: management })),
    ...discoveryRoutes({
      issuer,
      realms: realms(sql),
      resources: offeredScopes(sql),
      trustsPlatforms,
      defaultScopes: config.registration.scopes,
      clock,
      idTokenAlgorithms: config.keys.idTokenSigningAlg === "RS256" ? ["RS256", "EdDSA"] : ["EdDSA"],
      cimdEnabled: config.cimdEnabled,
      requirePushedRequests: config.requirePushedRequests,
      grantTypes,
    }),
    jwksRoute({ core, issuer, clock }),
    ...healthRoutes({
      issuer,
      lifecycle: parts.alive,
      database: () => ready.writes().then(() => true),
      redis: ephemeral.ping,
      core: parts.coreReady,
      clock: parts.databaseClock.state,
      diskIsFull: parts.diskIsFull,
    }),
    ...(parts.wallets === undefined ? walletOffRoutes(issuer) : []),
    ...systemRoutes({
      issuer,
      brandings: parts.brandings,
      exposition: async () => ({ contentType: metrics.contentType, text: await metrics.text() }),
    }),
    ...consoleRoutes({ issuer, environment: config.environment, requirePushedRequests: config.requirePushedRequests, randomBytes }),
    ...docsRoutes({ issuer, brandings: parts.brandings, describe: describeApi }),
  ];
  return { routes, describeApi };
}

function userPorts(config: Config, sql: Sql, parts: RouteParts) {
  const { core, fault, brandings, ephemeral, metrics, passwords, databaseClock } = parts;
  const box = vaultOf(config);
  const limiter = ephemeral.rateLimiter;
  const clients = clientDirectory(sql);
  const mailLimits = (name: string) => ({
    mailbox: limiter(`${name}-mailbox`, MAILBOX_LIMIT),
    address: limiter(`${name}-address`, MAIL_ADDRESS_LIMIT),
    device: limiter(`${name}-device`, MAILBOX_LIMIT),
  });
  return {
    ...accountStores(sql, parts.wakeOutbox),
    core,
    fault,
    issuer: config.issuer,
    brandings,
    passwords: counted(passwords, metrics),
    box,
    challenges: proofChallenges(sql),
    challengeRate: limiter("challenge", PENDING_RATE),
    relyingParty: relyingParty(config.issuer),
    attempts: passwordAttempts(signInFailures(sql), knownDevices(sql), monotonicSeconds),
    knownDevices: knownDevices(sql),
    strangerFailures: signInFailures(sql),
    scopeDescriptions: scopeDescriptions(sql),
    resources: shownResources(sql),
    refusals: auditLog(sql),
    pendingRequests: pendingRequests(sql),
    pendingRate: limiter("authorize", PENDING_RATE),
    connections: connections(sql),
    linkedWallets: linkedWallets(sql),
    providers: providersOf(config, box, databaseClock.seconds),
    namedTargets: (clientIds: readonly string[]) => clientsAmong(clientIds, clients),
    signUpPolicy: config.signUp.policy,
    signUps: limiter("sign-up", config.signUp.rate),
    resendLimits: mailLimits("resend"),
    forgottenLimits: mailLimits("forgotten"),
    sessionTtl: config.lifetimes.session,
    clock: databaseClock.seconds,
    randomBytes,
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

/** Talks to identity providers, of which those on this machine are reached in development only. */
export const providersOf = (
  config: Pick<Config, "issuer" | "environment" | "host">,
  box: SecretBox,
  clock: Clock,
): (() => Promise<Providers>) =>
  loadOnce(async () => {
    const { providers } = await import("../upstream/provider.ts");
    const { issuer } = config;
    const plainLoopback = reachesLoopback(config);
    const fetch = guardedFetch({ ownUrl: issuer, loopbackAllowed: plainLoopback, plainLoopback });
    const keys = issuerKeys(fetch, remoteKeys(fetch, clock), clock);
    return providers({ fetch, keys, box, clock, callback: (name) => `${issuer}/signin/${name}/callback`, plainLoopback });
  });
