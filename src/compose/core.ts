import { randomBytes } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { clientDocuments, LONGEST as LONGEST_KEPT, sharedDocuments } from "../clients/document-cache.ts";
import type { GuardedFetch } from "../clients/guarded-fetch.ts";
import { issuerKeys, remoteKeys } from "../clients/remote-keys.ts";
import { authenticationThrottle, clientShutOut, FAILURES } from "../clients/throttle.ts";
import { systemClock } from "../clock.ts";
import type { Config, Role } from "../config.ts";
import { assertionAudiences } from "../core/client-assertion.ts";
import { clockWatch, type DatabaseClock } from "../core/clocks.ts";
import type { IdentityAssertionPorts } from "../core/grants/jwt-bearer/ports.ts";
import type { TokenCoreImplementation } from "../core/ports.ts";
import { tokenCore } from "../core/service.ts";
import type { Keys } from "../core/signing/key-ring.ts";
import { derivedSecret } from "../core/signing/successor.ts";
import { lastEffect } from "../grpc/deadline.ts";
import { startGrpcListener } from "../grpc/listener.ts";
import { localTokenCore } from "../grpc/local.ts";
import { guardedFetch } from "../outside/guarded-fetch.ts";
import { isLoopbackHost, isLoopbackUrl } from "../outside/public-address.ts";
import { pooled } from "../random.ts";
import { resourceDiscovery } from "../resources/discovery.ts";
import { apiKeyDirectory } from "../store/api-keys.ts";
import { auditLog } from "../store/audit-log.ts";
import { authorizationCodes } from "../store/authorization-codes.ts";
import type { Readiness } from "../store/availability.ts";
import { clientDirectory } from "../store/client-directory.ts";
import { consentRepository } from "../store/consents.ts";
import { consumedIds } from "../store/consumed-ids.ts";
import { delegations } from "../store/delegations.ts";
import { detachedSignatures } from "../store/detached-signatures.ts";
import { deviceRequests } from "../store/device-requests.ts";
import type { Ephemeral } from "../store/ephemeral/memory.ts";
import { grants } from "../store/grants.ts";
import { identityAssertions } from "../store/identity-assertions.ts";
import { realms } from "../store/realms.ts";
import { refreshFamilies } from "../store/refresh-families.ts";
import { resourceDirectory, resourceRegistry } from "../store/resources.ts";
import { revocationEvents } from "../store/revocation-events.ts";
import type { Sql } from "../store/sql.ts";
import { tokenStates } from "../store/token-states.ts";
import type { Log } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { observedCore, type RefusalLog } from "./observed-core.ts";
import { listening } from "./opening.ts";
import { periodically } from "./periodically.ts";

/** Dependencies that core and front of a process share. */
export interface Surroundings {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly refusals: RefusalLog;
  readonly ready: Readiness;
  readonly databaseClock: DatabaseClock;
  /** Counters and short-lived texts, shared by all processes. */
  readonly ephemeral: Ephemeral;
  /** Logs a failure of background work. */
  readonly failed: (error: unknown) => void;
  /** To be run at shutdown, in reverse order. */
  readonly closing: (() => Promise<void>)[];
}

/** Core or front, once it listens. */
export interface StartedSide {
  /** Deferred loads, which the first calls would otherwise wait for. */
  readonly loads: readonly (() => Promise<unknown>)[];
  drain(lingerSeconds: number): Promise<void>;
}

/** Seconds between two readings of the other cores' keys. */
const KEYS_EVERY = 30;
/** Milliseconds that a statement may take; the database may still execute it later (sql-postgres.ts). */
const STATEMENT_WAIT = 2_500;
/** Seconds between two comparisons of the clocks. */
const CLOCK_EVERY = 30;
/** Seconds between two updates of health checking. */
const HEALTH_EVERY = 2;
/** Seconds for calls in flight after the listener has closed. */
const GRACE = 20;

async function composeCore(
  config: Config,
  sql: Sql,
  keys: Keys,
  { log, databaseClock, ephemeral, failed, closing }: Surroundings,
): Promise<TokenCoreImplementation> {
  const logWait = () => keys.current() === undefined && log.warn("signing_key_waits");
  logWait();
  const refreshing = periodically(KEYS_EVERY, () => keys.refresh().then(logWait), failed);
  const watch = clockWatch(databaseClock.measure, (seconds) => log.warn("clock_offset", { seconds }));
  await watch.look();
  const watching = periodically(CLOCK_EVERY, () => watch.look(), failed);
  closing.push(
    () => refreshing.stop(),
    () => watching.stop(),
  );
  const audit = auditLog(sql);
  return tokenCore({
    issuer: config.issuer,
    lifetimes: config.lifetimes,
    clock: systemClock,
    randomBytes: pooled(randomBytes),
    keys,
    clients: clientDirectory(sql),
    apiKeys: apiKeyDirectory(sql),
    ...resourcePorts(config, sql, log),
    requireKnownResources: config.requireKnownResources,
    codes: authorizationCodes(sql),
    devices: deviceRequests(sql),
    families: refreshFamilies(sql),
    grants: grants(sql),
    tokens: tokenStates(sql),
    delegations: delegations(sql),
    identityAssertions: config.idJag.enabled ? identityAssertionPorts(config, sql) : undefined,
    detachedSignatures: detachedSignatures(sql),
    selfContained: config.pqc.delivery === "self-contained",
    consents: consentRepository(sql),
    ...clientSources(config, sql, keys, ephemeral),
    // The limiter refuses what exceeds its points; here the last failure itself must already be reported.
    throttle: authenticationThrottle(
      ephemeral.rateLimiter("client-authentication", FAILURES.points - 1, FAILURES.seconds),
      systemClock,
      (clientId, address) => {
        audit.record(clientShutOut(clientId, address)).catch(failed);
      },
    ),
    audit,
    clocks: watch,
    databaseNow: databaseClock.now,
    effectWindow: lastEffect(0, STATEMENT_WAIT),
    log,
  });
}

/** Starts the token core with its gRPC listener, which serves fronts too in the role of a core. */
export async function startCore(config: Config, role: Role, sql: Sql, keys: Keys, around: Surroundings) {
  const { log, failed, ready } = around;
  const core = observedCore(localTokenCore(await composeCore(config, sql, keys, around)), around.metrics, around.refusals);
  const { host, port, tlsCert: cert, tlsKey: key, clientCa } = config.grpc;
  const listener = await listening({ setting: "GRPC_PORT", port, host }, () =>
    startGrpcListener({
      host,
      port,
      core,
      tls: cert !== undefined && key !== undefined ? { cert, key, ...(clientCa !== undefined && { clientCa }) } : undefined,
      fronts: role === "core" ? { secret: config.tokenCore.secret } : undefined,
      onFault: (error, where) => log.error("fault", { route: where, error }),
      revocations: revocationEvents(sql),
    }),
  );
  const heartbeat = periodically(HEALTH_EVERY, async () => listener.setServing(await answers(ready)), failed);
  listener.setServing(true);
  return {
    core,
    port: listener.port,
    loads: [listener.load],
    async drain(lingerSeconds: number) {
      await heartbeat.stop();
      listener.setServing(false);
      await setTimeout(lingerSeconds * 1000);
      await listener.close(GRACE);
    },
  } satisfies StartedSide & Record<string, unknown>;
}

const answers = (ready: Readiness): Promise<boolean> =>
  ready.ping().then(
    () => true,
    () => false,
  );

/** Sources of clients and keys outside the database, and the audience that client assertions must have. */
function clientSources(config: Config, sql: Sql, keys: Keys, ephemeral: Ephemeral) {
  const loopbackAllowed = config.environment !== "production" && isLoopbackHost(config.host);
  // Separate limits: anonymous callers who name slow hosts must not delay fetching the keys of registered clients.
  const newFetch = () => guardedFetch({ ownUrl: config.issuer, loopbackAllowed });
  const [key] = keys.own;
  const shared =
    key && sharedDocuments(ephemeral.texts("client-documents"), derivedSecret(key, "client documents"), LONGEST_KEPT, systemClock);
  const documents = clientDocuments({
    fetch: newFetch(),
    shared: config.redisUrl === undefined ? undefined : shared,
    realms: realms(sql),
    registrationScopes: config.registration.scopes,
    clock: systemClock,
  });
  return {
    documents: config.cimdEnabled ? documents : undefined,
    assertionAudiences: assertionAudiences(config.issuer, config.clientAssertionAudience),
    remoteKeys: remoteKeys(newFetch(), systemClock),
    consumedIds: consumedIds(sql),
  };
}

/** Records of resources. In development those on this machine are found by their metadata. */
function resourcePorts(config: Config, sql: Sql, log: Log) {
  const resources = { ...resourceDirectory(sql), ...resourceRegistry(sql) };
  const discovery = () => resourceDiscovery({ issuer: config.issuer, fetch: resourceFetch(config), resources, clock: systemClock, log });
  return { resources, resourceDiscovery: findsLocalResources(config) ? discovery() : undefined };
}

type Place = Pick<Config, "issuer" | "environment" | "host">;

const findsLocalResources = ({ environment, host }: Place): boolean => environment === "development" && isLoopbackHost(host);

/** Fetches metadata of resources; in development also from this machine. */
export function resourceFetch(place: Place): GuardedFetch {
  const local = findsLocalResources(place);
  return guardedFetch({ ownUrl: place.issuer, loopbackAllowed: local, plainLoopback: local });
}

/** The ports of the identity assertion grant. Issuers on loopback are contacted only if the operator names one, and never in production. */
function identityAssertionPorts(config: Config, sql: Sql): IdentityAssertionPorts {
  const { trustedIssuers, maxAssertionLifetime } = config.idJag;
  const loopbackAllowed = config.environment !== "production" && trustedIssuers.some((issuer) => isLoopbackUrl(issuer));
  const fetch = guardedFetch({ ownUrl: config.issuer, loopbackAllowed, plainLoopback: loopbackAllowed });
  return {
    trustedIssuers,
    maxLifetime: maxAssertionLifetime,
    keys: issuerKeys(fetch, remoteKeys(fetch, systemClock), systemClock),
    assertions: identityAssertions(sql),
  };
}
