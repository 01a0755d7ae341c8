import { randomBytes } from "node:crypto";
import { relyingParty } from "../accounts/authenticators/webauthn.ts";
import { MAIL_ADDRESS_LIMIT, MAILBOX_LIMIT } from "../accounts/caller.ts";
import { passwordAttempts } from "../accounts/password-attempts.ts";
import type { PasswordHashing } from "../accounts/password-hash.ts";
import type { NewSessionRecord } from "../accounts/ports.ts";
import type { Brandings } from "../branding/branding.ts";
import { namedTargets } from "../clients/find-client.ts";
import type { Config } from "../config.ts";
import { clientApiRoutes } from "../front/api/clients.ts";
import { trpcRoutes } from "../front/api/trpc.ts";
import { consoleRoutes } from "../front/console/routes.ts";
import type { Route } from "../front/http/routes.ts";
import type { Lifecycle } from "../front/http/steps.ts";
import { PENDING_RATE } from "../front/oauth/authorize.ts";
import { DEVICE_RATE, deviceAuthorizationRoute } from "../front/oauth/device-authorization.ts";
import { discoveryRoutes } from "../front/oauth/discovery.ts";
import { introspectRoute } from "../front/oauth/introspect.ts";
import { jwksRoute } from "../front/oauth/jwks.ts";
import { PUSH_RATE, pushRoute } from "../front/oauth/pushed-request.ts";
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
import type { SecretBox } from "../secret-box.ts";
import { accountClosing } from "../store/account-closing.ts";
import { addressChanges } from "../store/address-changes.ts";
import { agentPauses } from "../store/agent-pauses.ts";
import { auditLog } from "../store/audit-log.ts";
import { pendingRequests } from "../store/authorization-requests.ts";
import { clientDirectory, clientRegistry, managedClients } from "../store/clients.ts";
import { connections } from "../store/connections.ts";
import { consents, scopeDescriptions } from "../store/consents.ts";
import { delegationRepository } from "../store/delegation-repository.ts";
import { monotonicSeconds } from "../store/ephemeral/memory.ts";
import { identityLinks } from "../store/identity-links.ts";
import { invitations } from "../store/invitations.ts";
import { notices } from "../store/outbox.ts";
import { passkeys } from "../store/passkeys.ts";
import { passwordChanges } from "../store/password-changes.ts";
import { proofChallenges } from "../store/proof-challenges.ts";
import { realms } from "../store/realms.ts";
import { offeredScopes, shownResources } from "../store/resources.ts";
import { secondFactors } from "../store/second-factors.ts";
import { sessions } from "../store/sessions.ts";
import { knownDevices, signInFailures } from "../store/sign-in-failures.ts";
import type { Sql } from "../store/sql.ts";
import { users } from "../store/users.ts";
import { linkedWallets } from "../store/wallet-links.ts";
import { workloadDirectory } from "../store/workloads.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { IdentityLinks } from "../upstream/ports.ts";
import { providersOf } from "./connections.ts";
import type { Surroundings } from "./core.ts";
import { managementPorts } from "./management.ts";
import { vaultOf } from "./vault.ts";

export interface RouteParts extends Pick<Surroundings, "ephemeral" | "metrics" | "ready" | "databaseClock" | "diskIsFull" | "failed"> {
  readonly passwords: PasswordHashing;
  readonly core: TokenCore;
  /** Whether a core answers this front. */
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
  const { core, deployment, ephemeral, fault, metrics, passwords, ready, wallets } = parts;
  const clock = parts.databaseClock.seconds;
  const mailing = mailingStores(sql, parts.wakeOutbox);
  const box = vaultOf(config);
  const grantTypes = servedGrantTypes(config.idJag.enabled);
  const { configured: trustsPlatforms } = workloadDirectory(sql);
  const describeApi = async (): Promise<object> => (await import("../front/system/openapi.ts")).openApiDocument(issuer, routes);
  const live = { draining: () => parts.alive.draining, failed: parts.failed };
  const management = managementPorts(config, sql, core, passwords, deployment, parts.brandings, { box, clock }, mailing, live);
  const routes: readonly Route[] = [
    tokenRoute({ core, issuer, grantTypes, trustsPlatforms }),
    deviceAuthorizationRoute({ core, issuer, limiter: ephemeral.rateLimiter("device", DEVICE_RATE.points, DEVICE_RATE.seconds) }),
    pushRoute({ core, issuer, limiter: ephemeral.rateLimiter("push", PUSH_RATE.points, PUSH_RATE.seconds) }),
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
      clock,
      randomBytes,
    }),
    ...userRoutes({ ...userPorts(config, sql, { ...parts, box }), ...mailing, wallets, core, fault, issuer }),
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
    ...(wallets === undefined ? walletOffRoutes(issuer) : []),
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

/** The ports of the pages and account endpoints. */
function userPorts(
  config: Config,
  sql: Sql,
  { brandings, ephemeral, metrics, passwords, databaseClock, box }: RouteParts & { readonly box: SecretBox },
) {
  const limiter = (name: string, { points, seconds }: { readonly points: number; readonly seconds: number }) =>
    ephemeral.rateLimiter(name, points, seconds);
  const mailLimits = (name: string) => ({
    mailbox: limiter(`${name}-mailbox`, MAILBOX_LIMIT),
    address: limiter(`${name}-address`, MAIL_ADDRESS_LIMIT),
    device: limiter(`${name}-device`, MAILBOX_LIMIT),
  });
  return {
    brandings,
    passwords: counted(passwords, metrics),
    realms: realms(sql),
    box,
    challenges: proofChallenges(sql),
    challengeRate: limiter("challenge", PENDING_RATE),
    relyingParty: relyingParty(config.issuer),
    attempts: passwordAttempts(signInFailures(sql), knownDevices(sql), monotonicSeconds),
    knownDevices: knownDevices(sql),
    strangerFailures: signInFailures(sql),
    consents: consents(sql),
    delegations: delegationRepository(sql),
    agentPauses: agentPauses(sql),
    scopeDescriptions: scopeDescriptions(sql),
    resources: shownResources(sql),
    refusals: auditLog(sql),
    pendingRequests: pendingRequests(sql),
    pendingRate: limiter("authorize", PENDING_RATE),
    clients: managedClients(sql),
    connections: connections(sql),
    linkedWallets: linkedWallets(sql),
    providers: providersOf(config, box, databaseClock.seconds),
    namedTargets: namedTargets(clientDirectory(sql)),
    signUpPolicy: config.signUp.policy,
    signUps: limiter("sign-up", { points: config.signUp.rateLimit, seconds: config.signUp.rateWindow }),
    resendLimits: mailLimits("resend"),
    forgottenLimits: mailLimits("forgotten"),
    sessionTtl: config.lifetimes.session,
    clock: databaseClock.seconds,
    randomBytes,
  };
}

type Verb = (...given: readonly unknown[]) => Promise<unknown>;

/** Stores that queue mails, and wake the outbox so that these leave at once. */
export function mailingStores(sql: Sql, wake: () => void) {
  const waking = <Store extends object>(store: Store, ...verbs: readonly (keyof Store & string)[]): Store => {
    const awake =
      (verb: keyof Store): Verb =>
      async (...given) => {
        const result = await (store[verb] as Verb)(...given); // only verbs are named below
        wake();
        return result;
      };
    return { ...store, ...Object.fromEntries(verbs.map((verb) => [verb, awake(verb)])) };
  };
  /** Of all sessions those that a recovery code starts queue a mail. */
  const wakingStart =
    <Session extends NewSessionRecord, Rest extends readonly unknown[], Started>(
      start: (session: Session, ...rest: Rest) => Promise<Started>,
    ) =>
    async (session: Session, ...rest: Rest): Promise<Started> => {
      const started = await start(session, ...rest);
      if (session.factor?.kind === "recovery") wake();
      return started;
    };
  const [stored, links] = [sessions(sql), identityLinks(sql)];
  return {
    users: waking(users(sql), "register", "issueVerification"),
    passwordChanges: waking(passwordChanges(sql), "issueReset", "reset", "change"),
    identityLinks: waking<IdentityLinks>({ ...links, startSession: wakingStart(links.startSession) }, "link", "unlink"),
    sessions: { ...stored, start: wakingStart(stored.start), startUnrecorded: wakingStart(stored.startUnrecorded) },
    addressChanges: waking(addressChanges(sql), "request", "confirm"),
    closing: waking(accountClosing(sql), "close"),
    secondFactors: waking(secondFactors(sql), "confirm", "remove"),
    passkeys: waking(passkeys(sql), "add", "remove", "reportCopy"),
    notices: waking(notices(sql), "send"),
    invitations: waking(invitations(sql), "issue"),
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
