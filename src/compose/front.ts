import { randomBytes } from "node:crypto";
import type { IncomingMessage, RequestListener } from "node:http";
import { isIPv6 } from "node:net";
import { passwordAttempts } from "../accounts/password-attempts.ts";
import type { PasswordHashing } from "../accounts/password-hash.ts";
import { MAIL_ADDRESS_LIMIT, MAILBOX_LIMIT } from "../accounts/rates.ts";
import { namedTargets } from "../clients/agents.ts";
import { systemClock } from "../clock.ts";
import type { Config } from "../config.ts";
import type { DatabaseClock } from "../core/database-clock.ts";
import type { TokenCoreImplementation } from "../core/implementation.ts";
import { apiKeyRoutes } from "../front/api/api-keys.ts";
import { clientApiRoutes } from "../front/api/clients.ts";
import { trpcRoutes } from "../front/api/trpc.ts";
import { clientAddress, hasForwardedHeaders } from "../front/http/address.ts";
import { createApp } from "../front/http/app.ts";
import { loadBodyReader } from "../front/http/body.ts";
import { pathsOf, type Route } from "../front/http/routes.ts";
import { lifecycle, listen } from "../front/http/server.ts";
import { requestIds } from "../front/http/steps.ts";
import { PENDING_RATE } from "../front/oauth/authorize.ts";
import { discoveryRoutes } from "../front/oauth/discovery.ts";
import { introspectRoute } from "../front/oauth/introspect.ts";
import { jwksRoute } from "../front/oauth/jwks.ts";
import { registerRoute } from "../front/oauth/register.ts";
import { revokeRoute } from "../front/oauth/revoke.ts";
import { tokenRoute } from "../front/oauth/token.ts";
import { userinfoRoutes } from "../front/oauth/userinfo.ts";
import { pageErrorPrinter } from "../front/pages/errors.ts";
import { siteOf } from "../front/pages/site.ts";
import { docsRoutes } from "../front/system/docs.ts";
import { healthRoutes } from "../front/system/health.ts";
import { systemRoutes } from "../front/system/system.ts";
import { userRoutes, type WalletRoutes } from "../front/user-routes.ts";
import { walletOffRoutes } from "../front/wallet/routes.ts";
import { connectRoutes } from "../grpc/connect-routes.ts";
import { remoteTokenCore } from "../grpc/core-client.ts";
import { localTokenCore } from "../grpc/local.ts";
import { createMailer, outboxDirectory } from "../outside/mail.ts";
import { startOutbox } from "../outside/outbox.ts";
import { servedGrantTypes } from "../protocol/grants.ts";
import { agentPauses } from "../store/agent-pauses.ts";
import { auditLog } from "../store/audit-log.ts";
import { clientDirectory } from "../store/client-directory.ts";
import { clientRegistry, managedClients } from "../store/clients.ts";
import { consents } from "../store/consents.ts";
import { delegationRepository } from "../store/delegation-repository.ts";
import { type Ephemeral, monotonicSeconds } from "../store/ephemeral/memory.ts";
import { outbox } from "../store/outbox.ts";
import { pendingRequests } from "../store/pending-requests.ts";
import type { Readiness } from "../store/readiness.ts";
import { realms } from "../store/realms.ts";
import { scopeDescriptions } from "../store/scope-descriptions.ts";
import { sessions } from "../store/sessions.ts";
import { signInFailures } from "../store/sign-in-failures.ts";
import type { Sql } from "../store/sql.ts";
import type { Log } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { mailingStores } from "./account-stores.ts";
import { managementPorts } from "./management.ts";
import { observedCore } from "./observed-core.ts";
import { listening } from "./opening.ts";
import type { RefusalLog } from "./refusal-log.ts";

export interface FrontSurroundings {
  /** The core of this process; without one the front calls the core at TOKEN_CORE_URL. */
  readonly core: TokenCoreImplementation | undefined;
  readonly log: Log;
  readonly refusals: RefusalLog;
  readonly metrics: Metrics;
  /** Takes the patterns of the routes that are served, so that they can label a metric. */
  readonly routes: Set<string>;
  readonly passwords: PasswordHashing;
  readonly ephemeral: Ephemeral;
  readonly ready: Readiness;
  readonly databaseClock: DatabaseClock;
  readonly failed: (error: unknown) => void;
  readonly closing: (() => Promise<void>)[];
}

/** Milliseconds that what is in flight may take. */
const GRACE = 20_000;

/** The HTTP front over the core and its own stores, listening. */
export async function composeFront(config: Config, sql: Sql, around: FrontSurroundings) {
  const { log, metrics, closing } = around;
  const { issuer } = config;
  const grantTypes = servedGrantTypes(config.idJag.enabled);
  const remote =
    around.core === undefined
      ? remoteTokenCore(
          { url: config.tokenCore.url ?? "", secret: config.tokenCore.secret, tls: coreTls(config) },
          around.databaseClock.now,
        )
      : undefined;
  if (remote !== undefined) closing.push(() => remote.close());
  const core = observedCore(remote ?? localTokenCore(around.core as TokenCoreImplementation), metrics);

  const { ephemeral } = around;
  const limiter = (name: string, { points, seconds }: { readonly points: number; readonly seconds: number }) =>
    ephemeral.rateLimiter(name, points, seconds);
  if (config.environment === "production" && config.mail.smtpUrl === undefined)
    log.warn("mail_goes_to_files", { path: outboxDirectory(config.dataDir) });
  const mails = startOutbox({
    outbox: outbox(sql),
    mailer: createMailer({ smtpUrl: config.mail.smtpUrl, from: config.mail.from, dataDir: config.dataDir }),
    log,
  });
  closing.push(() => mails.close());

  const fault = (report: { readonly requestId: string; readonly route: string; readonly error: unknown }): void =>
    log.error("fault", report);
  const alive = lifecycle();
  const wallets = config.wallet.enabled ? await walletsOf(config, sql, around) : undefined;
  /** Loads the library that writes the description when it is first asked for, or after the start. */
  const describeApi = async (): Promise<object> => (await import("../front/system/openapi.ts")).openApiDocument(issuer, routes);
  const routes: readonly Route[] = [
    tokenRoute({ core, issuer, grantTypes }),
    introspectRoute({ core, issuer }),
    revokeRoute({ core, issuer }),
    ...userinfoRoutes({ core, issuer }),
    registerRoute({
      issuer,
      registry: clientRegistry(sql),
      realms: realms(sql),
      limiter: limiter("register", { points: config.registration.rateLimit, seconds: config.registration.rateWindow }),
      defaultScopes: config.registration.scopes,
      scopeMode: config.registration.dynamicClientScope,
      clock: systemClock,
      randomBytes,
    }),
    ...userRoutes({
      wallets,
      core,
      fault,
      issuer,
      ...mailingStores(sql, mails.wake),
      passwords: counted(around.passwords, metrics),
      realms: realms(sql),
      sessions: sessions(sql),
      attempts: passwordAttempts(signInFailures(sql), monotonicSeconds),
      consents: consents(sql),
      delegations: delegationRepository(sql),
      agentPauses: agentPauses(sql),
      scopeDescriptions: scopeDescriptions(sql),
      refusals: auditLog(sql),
      pendingRequests: pendingRequests(sql),
      pendingRate: limiter("authorize", PENDING_RATE),
      clients: managedClients(sql),
      namedTargets: namedTargets(clientDirectory(sql)),
      signUps: limiter("sign-up", { points: config.signUp.rateLimit, seconds: config.signUp.rateWindow }),
      resendLimits: { mailbox: limiter("resend-mailbox", MAILBOX_LIMIT), address: limiter("resend-address", MAIL_ADDRESS_LIMIT) },
      forgottenLimits: { mailbox: limiter("forgotten-mailbox", MAILBOX_LIMIT), address: limiter("forgotten-address", MAIL_ADDRESS_LIMIT) },
      sessionTtl: config.lifetimes.session,
      clock: systemClock,
      randomBytes,
    }),
    ...[clientApiRoutes, apiKeyRoutes, trpcRoutes].flatMap((routesOf) =>
      routesOf({ issuer, fault, ports: managementPorts(config, sql, core, around.passwords) }),
    ),
    ...discoveryRoutes({
      issuer,
      realms: realms(sql),
      defaultScopes: config.registration.scopes,
      clock: systemClock,
      idTokenAlgorithms: config.keys.idTokenSigningAlg === "RS256" ? ["RS256", "EdDSA"] : ["EdDSA"],
      cimdEnabled: config.cimdEnabled,
      grantTypes,
    }),
    jwksRoute({ core, issuer, clock: systemClock }),
    ...healthRoutes({
      issuer,
      lifecycle: alive,
      database: () => around.ready.writes().then(() => true),
      redis: ephemeral.ping,
      core: remote === undefined ? async () => true : remote.ready,
    }),
    ...(wallets === undefined ? walletOffRoutes(issuer) : []),
    ...systemRoutes({ issuer, exposition: async () => ({ contentType: metrics.contentType, text: await metrics.text() }) }),
    ...docsRoutes({ issuer, describe: describeApi }),
  ];
  for (const path of routes.flatMap(pathsOf)) around.routes.add(path);
  const pages = createApp({
    issuer,
    routes,
    lifecycle: alive,
    trustProxy: config.trustProxy,
    page: pageErrorPrinter(siteOf(issuer)),
    requestId: requestIds(randomBytes),
    telemetry: {
      fault,
      refused: around.refusals.atRoute,
      observe(route, method, status, seconds, requestId) {
        metrics.httpRequest(route, method, status, seconds);
        log.debug("http_request", { requestId, route, method, status, durationMs: Math.round(seconds * 1000) });
      },
    },
  });
  const introspection = connectRoutes({
    core,
    issuer,
    addressOf: (request) => clientAddress(request, config.trustProxy),
    onFault: (error, where) => log.error("fault", { route: where, error }),
  });
  const proxied = config.trustProxy ? () => undefined : untrustedProxyWatch(metrics, log);
  const handler: RequestListener = (request, response) => {
    proxied(request);
    if (!introspection(request, response)) pages(request, response);
  };
  const { host } = config;
  const listener = await listening({ setting: "PORT", port: config.port, host }, () =>
    listen({ handler, host, port: config.port, lifecycle: alive }),
  );
  const port = listener.addresses[0]?.port ?? config.port;
  return {
    listening: `http://${isIPv6(host) ? `[${host}]` : host}:${port}`,
    /** What first requests load otherwise: the description of the API, the list of common passwords, the library of Connect. */
    loads: [
      describeApi,
      loadBodyReader,
      () => import("@zxcvbn-ts/language-common"),
      () => import("@connectrpc/connect-node"),
    ] as readonly (() => Promise<unknown>)[],
    drain: (lingerSeconds: number) => listener.drain(lingerSeconds * 1000, GRACE),
  };
}

/** Counts requests that come through a proxy which is not trusted, and logs the first: all its callers share one address for limits. */
function untrustedProxyWatch(metrics: Metrics, log: Log): (request: IncomingMessage) => void {
  let logged = false;
  return (request) => {
    if (!hasForwardedHeaders(request)) return;
    metrics.forwardedIgnored();
    if (!logged) log.warn("forwarded_headers_ignored", { setting: "TRUST_PROXY" });
    logged = true;
  };
}

const coreTls = ({ tokenCore: { ca, tlsCert: cert, tlsKey: key } }: Config) => ({ ca, cert, key });

/** Sign-ins by password, counted. */
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

/** Loaded when wallets are switched on: what their formats need is nothing to burden others with. */
async function walletsOf(config: Config, sql: Sql, { log, ephemeral }: FrontSurroundings): Promise<WalletRoutes> {
  if (config.wallet.trustedIssuers.length === 0) log.warn("wallet_trusts_no_issuer");
  const { composeWallet } = await import("./wallet.ts");
  return composeWallet(config, sql, ephemeral);
}
