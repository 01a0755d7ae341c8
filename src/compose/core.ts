import { randomBytes } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { clientDocuments, LONGEST as LONGEST_KEPT, sharedDocuments } from "../clients/document-cache.ts";
import type { GuardedFetch, GuardedSend } from "../clients/guarded-fetch.ts";
import type { KeptDocuments } from "../clients/ports.ts";
import { issuerKeys, remoteKeys, workloadKeys } from "../clients/remote-keys.ts";
import { authenticationThrottle, clientShutOut, FAILURES } from "../clients/throttle.ts";
import type { Clock } from "../clock.ts";
import type { Config, Role } from "../config.ts";
import { assertionAudiences } from "../core/client-assertion.ts";
import type { DatabaseClock } from "../core/clocks.ts";
import { proofNonces } from "../core/dpop.ts";
import type { AuditLog, TokenCoreImplementation } from "../core/ports.ts";
import { tokenCore } from "../core/service.ts";
import type { Keys } from "../core/signing/key-ring.ts";
import { derivedSecret } from "../core/signing/keys.ts";
import type { AuthorizationCodes, IdentityAssertionPorts } from "../core/stored-grants.ts";
import { workloadRefusals } from "../core/workload/authentication.ts";
import { forwardedAddress } from "../front/http/caller.ts";
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
import { pushedRequests } from "../store/authorization-requests.ts";
import type { Readiness } from "../store/availability.ts";
import { clientDirectory, documentVersions } from "../store/clients.ts";
import { consentRepository } from "../store/consents.ts";
import { consumedIds } from "../store/consumed-ids.ts";
import { delegations } from "../store/delegations.ts";
import { detachedSignatures } from "../store/detached-signatures.ts";
import { deviceRequests } from "../store/device-requests.ts";
import type { Ephemeral } from "../store/ephemeral/memory.ts";
import { grants } from "../store/grants.ts";
import { identityAssertions } from "../store/identity-assertions.ts";
import { logoutSubscriptions } from "../store/logouts.ts";
import { realms } from "../store/realms.ts";
import { refreshFamilies } from "../store/refresh-families.ts";
import { managedResources, resourceDirectory } from "../store/resources.ts";
import type { Sql } from "../store/sql.ts";
import { revocationEvents, tokenStates } from "../store/token-states.ts";
import { workloadDirectory } from "../store/workloads.ts";
import type { Log } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { Tracing } from "../telemetry/tracing.ts";
import { notifyingLogouts } from "./housekeeping.ts";
import { listening, reachesLoopback } from "./opening.ts";
import { type Failed, periodically } from "./periodically.ts";
import { observedCore, type RefusalLog, tracedCore } from "./telemetry.ts";

/** Dependencies that core and front of a process share. */
export interface Surroundings {
  readonly tracing: Tracing | undefined;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly refusals: RefusalLog;
  readonly ready: Readiness;
  /** Whether the embedded database refuses writes because its disk is full. */
  readonly diskIsFull: () => boolean;
  readonly databaseClock: DatabaseClock;
  /** Counters and short-lived texts, shared by all processes. */
  readonly ephemeral: Ephemeral;
  readonly failed: Failed;
  /** Stop work that another process or the next start continues. They are run together, while requests are still served. */
  readonly background: (() => Promise<void>)[];
  /** To be run after the last request, in reverse order. */
  readonly closing: (() => Promise<void>)[];
}

/** Seconds between two readings of the other cores' keys. */
const KEYS_EVERY = 30;
/** Milliseconds that a statement may take; the database may still execute it later (sql-postgres.ts). */
const STATEMENT_WAIT = 2_500;
/** Seconds between two updates of health checking. */
const HEALTH_EVERY = 2;
/** Seconds for calls in flight after the listener has closed. */
const GRACE = 20;

async function composeCore(
  config: Config,
  sql: Sql,
  keys: Keys,
  { log, databaseClock, ephemeral, failed, background, closing }: Surroundings,
): Promise<TokenCoreImplementation> {
  const logWait = () => keys.current() === undefined && log.warn("signing_key_waits");
  logWait();
  const clock = databaseClock.seconds;
  closing.push(periodically(KEYS_EVERY, () => keys.refresh().then(logWait), failed, "keys"));
  background.push(notifyingLogouts(config, sql, keys, { log, failed, clock }));
  const audit = auditLog(sql);
  const sources = clientSources(config, sql, keys, { ephemeral, audit, clock });
  return tokenCore({
    issuer: config.issuer,
    lifetimes: config.lifetimes,
    clock,
    randomBytes: pooled(randomBytes),
    keys,
    clients: clientDirectory(sql),
    apiKeys: apiKeyDirectory(sql),
    ...resourcePorts(config, sql, { log, clock }),
    requireKnownResources: config.requireKnownResources,
    codes: keepingDocuments(authorizationCodes(sql), sources.documents),
    logoutSubscriptions: logoutSubscriptions(sql),
    devices: deviceRequests(sql),
    pushedRequests: pushedRequests(sql),
    requirePushedRequests: config.requirePushedRequests,
    families: refreshFamilies(sql),
    grants: grants(sql),
    tokens: tokenStates(sql),
    delegations: delegations(sql),
    identityAssertions: config.idJag.enabled ? identityAssertionPorts(config, sql, clock) : undefined,
    detachedSignatures: detachedSignatures(sql),
    selfContained: config.pqc.delivery === "self-contained",
    consents: consentRepository(sql),
    ...sources,
    // The limiter refuses what exceeds its points; here the last failure itself must already be reported.
    throttle: authenticationThrottle(
      ephemeral.rateLimiter("client-authentication", { ...FAILURES, points: FAILURES.points - 1 }),
      clock,
      (clientId, address) => {
        audit.record(clientShutOut(clientId, address)).catch(failed);
      },
    ),
    audit,
    clocks: databaseClock,
    effectWindow: lastEffect(0, STATEMENT_WAIT),
    log,
  });
}

/** Starts the token core with its gRPC listener, which serves fronts too in the role of a core. */
export async function startCore(config: Config, role: Role, sql: Sql, keys: Keys, around: Surroundings) {
  const { log, failed, ready } = around;
  const core = observedCore(
    tracedCore(localTokenCore(await composeCore(config, sql, keys, around)), "internal", around.tracing),
    around.metrics,
    around.refusals,
  );
  const { host, port, tlsCert: cert, tlsKey: key, tlsClientCa: clientCa, trustProxy } = config.grpc;
  const { secret, secretPrevious: previousSecret } = config.tokenCore;
  const listener = await listening({ setting: "GRPC_PORT", port, host }, () =>
    startGrpcListener({
      host,
      port,
      core,
      tls: cert !== undefined && key !== undefined ? { cert, key, ...(clientCa !== undefined && { clientCa }) } : undefined,
      fronts: role === "core" ? { secret, previousSecret } : undefined,
      onFault: (error, where) => log.error("fault", { route: where, error }),
      addressOf: trustProxy ? forwardedAddress : undefined,
      revocations: revocationEvents(sql),
    }),
  );
  const serve = () => listener.setServing(true);
  const pause = () => listener.setServing(false);
  const stopHeartbeat = periodically(HEALTH_EVERY, () => ready.ping().then(serve, pause), failed);
  serve();
  return {
    core,
    port: listener.port,
    /** Deferred loads, which the first calls would otherwise wait for. */
    loads: [listener.load],
    async drain(lingerSeconds: number) {
      await stopHeartbeat();
      listener.setServing(false);
      await setTimeout(lingerSeconds * 1000);
      await listener.close(GRACE);
    },
  };
}

/** Keeps the document of a client that gets a code, for operators. */
const keepingDocuments = (codes: AuthorizationCodes, documents: KeptDocuments | undefined): AuthorizationCodes => ({
  ...codes,
  async issue(codeHash, binding, ttl, audit) {
    if (binding.documentClient) await documents?.keep(binding.clientId);
    return codes.issue(codeHash, binding, ttl, audit);
  },
});

type SourceParts = { readonly ephemeral: Ephemeral; readonly audit: Pick<AuditLog, "record">; readonly clock: Clock };

/** Sources of clients and keys outside the database, and the audience that client assertions must have. */
function clientSources(config: Config, sql: Sql, keys: Keys, { ephemeral, audit, clock }: SourceParts) {
  const loopbackAllowed = reachesLoopback(config);
  // Separate limits: anonymous callers who name slow hosts must not delay fetching the keys of registered clients and platforms.
  const newFetch = () => guardedFetch({ ownUrl: config.issuer, loopbackAllowed });
  const documentKeyFetch = newFetch();
  const privateFetch = guardedFetch({ ownUrl: config.issuer, loopbackAllowed: true, plainLoopback: true, privateAllowed: true });
  const [key] = keys.own;
  const shared = key && sharedDocuments(ephemeral.texts("client-documents"), derivedSecret(key, "client documents"), LONGEST_KEPT, clock);
  const documents = clientDocuments({
    fetch: newFetch(),
    shared: config.redisUrl === undefined ? undefined : shared,
    realms: realms(sql),
    registrationScopes: config.registration.scopes,
    versions: documentVersions(sql),
    clock,
  });
  return {
    documents: config.cimdEnabled ? documents : undefined,
    assertionAudiences: assertionAudiences(config.issuer, config.clientAssertionAudience),
    remoteKeys: remoteKeys(newFetch(), clock),
    documentKeys: remoteKeys(documentKeyFetch, clock),
    consumedIds: consumedIds(sql),
    workloads: {
      ...workloadDirectory(sql),
      // Only addresses that an operator gave, and allowed to be private, are fetched by the second one.
      keys: workloadKeys(newFetch(), privateFetch, documentKeyFetch, clock),
      recordRefusal: workloadRefusals(audit.record, clock),
    },
    proofNonces: config.dpopNonce ? proofNonces(keys) : undefined,
  };
}

/** Records of resources. In development those on this machine are found by their metadata. */
function resourcePorts(config: Config, sql: Sql, { log, clock }: { readonly log: Log; readonly clock: Clock }) {
  const resources = { ...resourceDirectory(sql), add: managedResources(sql).add };
  const discovery = () => resourceDiscovery({ issuer: config.issuer, fetch: resourceFetch(config), resources, clock, log });
  return { resources, resourceDiscovery: findsLocalResources(config) ? discovery() : undefined };
}

type Place = Pick<Config, "issuer" | "environment" | "host">;

const findsLocalResources = ({ environment, host }: Place): boolean => environment === "development" && isLoopbackHost(host);

/** Fetches metadata of resources; in development also from this machine. */
export function resourceFetch(place: Place): GuardedFetch & GuardedSend {
  const local = findsLocalResources(place);
  return guardedFetch({ ownUrl: place.issuer, loopbackAllowed: local, plainLoopback: local });
}

/** The ports of the identity assertion grant. Issuers on loopback are contacted only if the operator names one, and never in production. */
function identityAssertionPorts(config: Config, sql: Sql, clock: Clock): IdentityAssertionPorts {
  const { trustedIssuers, maxAssertionLifetime } = config.idJag;
  const loopbackAllowed = config.environment !== "production" && trustedIssuers.some((issuer) => isLoopbackUrl(issuer));
  const fetch = guardedFetch({ ownUrl: config.issuer, loopbackAllowed, plainLoopback: loopbackAllowed });
  return {
    trustedIssuers,
    maxLifetime: maxAssertionLifetime,
    keys: issuerKeys(fetch, remoteKeys(fetch, clock), clock),
    assertions: identityAssertions(sql),
  };
}
