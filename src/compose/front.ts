import { randomBytes } from "node:crypto";
import type { IncomingMessage, RequestListener } from "node:http";
import { isIPv6 } from "node:net";
import type { PasswordHashing } from "../accounts/password-hash.ts";
import { bodyBudget } from "../body-budget.ts";
import { realmBrandings } from "../branding/branding.ts";
import type { Config } from "../config.ts";
import { createApp } from "../front/http/app.ts";
import { loadBodyReader } from "../front/http/body.ts";
import { clientAddress } from "../front/http/caller.ts";
import { pathsOf } from "../front/http/routes.ts";
import { endingWithReader, listen } from "../front/http/server.ts";
import { type FrontTelemetry, type Lifecycle, requestIds } from "../front/http/steps.ts";
import { pageErrorPrinter } from "../front/pages/errors.ts";
import { siteOf } from "../front/pages/views/layout.ts";
import type { WalletRoutes } from "../front/user-routes.ts";
import { CONNECT_PATHS, connectRoutes } from "../grpc/connect-routes.ts";
import { remoteTokenCore } from "../grpc/core-client.ts";
import type { TokenCore } from "../grpc/local.ts";
import { createMailer, outboxDirectory } from "../outside/mail.ts";
import { startOutbox } from "../outside/outbox.ts";
import { outbox } from "../store/outbox.ts";
import { realmBrandings as readBrandings } from "../store/realms.ts";
import type { Sql } from "../store/sql.ts";
import type { Surroundings } from "./core.ts";
import { deploymentOf, settingsOf, watchCallers } from "./deployment.ts";
import { resealing } from "./keys.ts";
import { listening } from "./opening.ts";
import { frontRoutes } from "./routes.ts";
import { observedCore, tracedCore, tracedRequests } from "./telemetry.ts";
import { waitWhileOthersServe } from "./worker.ts";

export interface FrontSurroundings extends Surroundings {
  /** The core of this process; undefined: the front calls the core at TOKEN_CORE_URL. */
  readonly core: TokenCore | undefined;
  /** Receives the patterns of the served routes, which label a metric. */
  readonly routes: Set<string>;
  readonly passwords: PasswordHashing;
}

/** Milliseconds for requests in flight after the listener has closed. */
const GRACE = 20_000;

/** What a front loads late: the reader of bodies, the common passwords, the Connect library. */
const LOADS: readonly (() => Promise<unknown>)[] = [
  loadBodyReader,
  () => import("@zxcvbn-ts/language-common"),
  () => import("@connectrpc/connect-node"),
];

export async function composeFront(config: Config, sql: Sql, around: FrontSurroundings) {
  const { log, metrics } = around;
  const clock = around.databaseClock.seconds;
  const { issuer, host } = config;
  const { core, ready } = coreOf(config, around);
  const mails = openOutbox(config, sql, around);
  if (config.environment === "production" && config.signUp.policy.mode === "open") log.info("sign_up_open");
  const fault: FrontTelemetry["fault"] = (report) => log.error("fault", report);
  const alive: Lifecycle = { draining: false };
  const brandings = realmBrandings(config.branding, readBrandings(sql), clock, around.failed);
  await brandings.refresh();
  const callers = watchCallers(config.trustProxy, metrics, log);
  const { routes, describeApi } = frontRoutes(config, sql, {
    ...around,
    core,
    coreReady: ready,
    alive,
    deployment: { deployment: deploymentOf(config, sql, callers), settings: settingsOf(config) },
    fault,
    brandings,
    wallets: config.wallet.federationEnabled ? await walletsOf(config, sql, around) : undefined,
    wakeOutbox: mails.wake,
  });
  for (const path of [...routes.flatMap(pathsOf), ...CONNECT_PATHS]) around.routes.add(path);
  const bodies = bodyBudget();
  const addressOf = (request: IncomingMessage) => clientAddress(request, config.trustProxy);
  const introspection = connectRoutes({
    core,
    issuer,
    addressOf,
    bodies,
    onFault: (error, where) => log.error("fault", { route: where, error }),
  });
  const app = createApp({
    issuer,
    routes,
    listeners: new Map([...CONNECT_PATHS].map((path) => [path, endingWithReader(introspection)])),
    lifecycle: alive,
    addressOf,
    bodies,
    page: pageErrorPrinter(siteOf(issuer, brandings)),
    requestId: requestIds(randomBytes),
    telemetry: {
      fault,
      refused: around.refusals.atRoute,
      observe(route, method, status, seconds, requestId) {
        metrics.httpRequest(route, method, status, seconds);
        if (route !== "unknown") around.tracing?.routed(method, route);
        log.debug?.("http_request", { requestId, route, method, status, durationMs: Math.round(seconds * 1000) });
      },
    },
  });
  const watched: RequestListener = (request, response) => {
    callers.see(request);
    app(request, response);
  };
  const handler = tracedRequests(watched, around.routes, around.tracing);
  around.background.push(resealing(config, sql, log, around.failed));
  await waitWhileOthersServe(ready);
  const listener = await listening({ setting: "PORT", port: config.port, host }, () =>
    listen({ handler, host, port: config.port, lifecycle: alive }),
  );
  const port = listener.addresses[0]?.port ?? config.port;
  return {
    listening: `http://${isIPv6(host) ? `[${host}]` : host}:${port}`,
    loads: [describeApi, ...LOADS],
    drain: (lingerSeconds: number) => listener.drain(lingerSeconds * 1000, GRACE),
  };
}

function coreOf({ tokenCore }: Config, { core, databaseClock, metrics, refusals, closing, tracing, log }: FrontSurroundings) {
  if (core !== undefined) return { core, ready: async () => true };
  const { url = "", secret, ca, tlsCert: cert, tlsKey: key } = tokenCore;
  const remote = remoteTokenCore({ url, secret, tls: { ca, cert, key } }, databaseClock.now, undefined, log);
  closing.push(() => remote.close());
  return { core: observedCore(tracedCore(remote, "client", tracing), metrics, refusals), ready: remote.ready };
}

function openOutbox(config: Config, sql: Sql, { log, metrics, background }: FrontSurroundings) {
  if (config.environment === "production" && config.mail.smtpUrl === undefined)
    log.warn("mail_goes_to_files", { path: outboxDirectory(config.dataDir) });
  const mails = startOutbox({
    outbox: outbox(sql),
    mailer: createMailer({ smtpUrl: config.mail.smtpUrl, from: config.mail.from, dataDir: config.dataDir }),
    log,
    onFailure: () => metrics.backgroundFailure("mail"),
    logLinks: config.environment === "development",
  });
  background.push(() => mails.close());
  return mails;
}

/** Loads wallet linking, with its libraries, only where it is enabled. */
async function walletsOf(config: Config, sql: Sql, { log, ephemeral, databaseClock }: FrontSurroundings): Promise<WalletRoutes> {
  if (config.wallet.trustedIssuers.length === 0) log.warn("wallet_trusts_no_issuer");
  const { composeWallet } = await import("./wallet.ts");
  return composeWallet(config, sql, ephemeral, databaseClock.seconds);
}
