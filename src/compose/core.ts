import { randomBytes } from "node:crypto";
import { resolve } from "node:path";
import { clientDocuments, LONGEST as LONGEST_KEPT } from "../clients/document-cache.ts";
import { issuerKeys, remoteKeys } from "../clients/remote-keys.ts";
import { sharedDocuments } from "../clients/shared-documents.ts";
import { authenticationThrottle, clientShutOut, FAILURES } from "../clients/throttle.ts";
import { pooled, systemClock } from "../clock.ts";
import type { Config } from "../config.ts";
import { assertionAudiences } from "../core/client-assertion.ts";
import { clockWatch } from "../core/clock-watch.ts";
import type { DatabaseClock } from "../core/database-clock.ts";
import type { IdentityAssertionPorts } from "../core/grants/jwt-bearer/ports.ts";
import type { CallContext, TokenCoreImplementation } from "../core/implementation.ts";
import { tokenCore } from "../core/service.ts";
import { derivedSecret } from "../core/signing/derived-secret.ts";
import { type Keys, openKeys } from "../core/signing/key-ring.ts";
import { publicKeysOf, type SigningKey, signingKey } from "../core/signing/keys.ts";
import { openMldsaKey } from "../core/signing/ml-dsa.ts";
import { developmentKey } from "../development-keys.ts";
import { Refusal } from "../errors.ts";
import { lastEffect } from "../grpc/deadline.ts";
import { readMldsaPrivate } from "../ml-dsa-key.ts";
import { guardedFetch } from "../outside/guarded-fetch.ts";
import { isLoopbackHost, isLoopbackUrl } from "../outside/public-address.ts";
import { apiKeyDirectory } from "../store/api-keys.ts";
import { auditLog } from "../store/audit-log.ts";
import { authorizationCodes } from "../store/authorization-codes.ts";
import { clientDirectory } from "../store/client-directory.ts";
import { consentRepository } from "../store/consents.ts";
import { consumedIds } from "../store/consumed-ids.ts";
import { delegations } from "../store/delegations.ts";
import { detachedSignatures } from "../store/detached-signatures.ts";
import type { Ephemeral } from "../store/ephemeral/memory.ts";
import { grants } from "../store/grants.ts";
import { identityAssertions } from "../store/identity-assertions.ts";
import { keyRegister } from "../store/key-register.ts";
import type { Database } from "../store/orm.ts";
import { realms } from "../store/realms.ts";
import { refreshFamilies } from "../store/refresh-families.ts";
import type { Sql } from "../store/sql.ts";
import { tokenStates } from "../store/token-states.ts";
import type { Log } from "../telemetry/log.ts";
import { periodically } from "./periodically.ts";

export interface CoreSurroundings {
  readonly log: Log;
  readonly databaseClock: DatabaseClock;
  /** What all processes count and remember together. */
  readonly ephemeral: Ephemeral;
  readonly failed: (error: unknown) => void;
  readonly closing: (() => Promise<void>)[];
}

/** Seconds between two looks at the keys of sibling cores. */
const KEYS_EVERY = 30;
/**
 * Seconds for which a key that no core has any more is still served: longer than a token can live, by more than lies between two marks of
 * its use.
 */
export const KEYS_OUTLIVE = 25 * 60 * 60;
/** Milliseconds after which a statement without an answer is given up, though the database may still come to it (sql-postgres.ts). */
const STATEMENT_WAIT = 2_500;
/** Seconds between two comparisons of the clocks. */
const CLOCK_EVERY = 30;

/** The token core over its stores. */
export async function composeCore(
  config: Config,
  sql: Sql,
  keys: Keys,
  { log, databaseClock, ephemeral, failed, closing }: CoreSurroundings,
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
  const core = tokenCore({
    issuer: config.issuer,
    lifetimes: config.lifetimes,
    clock: systemClock,
    randomBytes: pooled(randomBytes),
    keys,
    clients: clientDirectory(sql),
    apiKeys: apiKeyDirectory(sql),
    codes: authorizationCodes(sql),
    families: refreshFamilies(sql),
    grants: grants(sql),
    tokens: tokenStates(sql),
    delegations: delegations(sql),
    identityAssertions: config.idJag.enabled ? identityAssertionPorts(config, sql) : undefined,
    detachedSignatures: detachedSignatures(sql),
    selfContained: config.pqc.delivery === "self-contained",
    consents: consentRepository(sql),
    ...clientSources(config, sql, keys, ephemeral),
    // The limiter refuses what is past its points; here the last failure itself is to be told.
    throttle: authenticationThrottle(
      ephemeral.rateLimiter("client-authentication", FAILURES.points - 1, FAILURES.seconds),
      systemClock,
      (clientId, address) => {
        audit.record(clientShutOut(clientId, address)).catch(failed);
      },
    ),
    audit,
    lastEffect: () => {
      const now = databaseClock.now();
      return now === undefined ? undefined : lastEffect(now, STATEMENT_WAIT);
    },
    log,
  });
  const effective =
    <Request, Answer>(method: (request: Request, context: CallContext) => Promise<Answer>): typeof method =>
    async (request, context) => {
      assertInTime(context.notAfter, databaseClock.now());
      return method(request, context);
    };
  const issuing = <Request, Answer>(method: (request: Request, context: CallContext) => Promise<Answer>): typeof method =>
    effective(async (request, context) => {
      watch.assertTrue();
      return method(request, context);
    });
  return {
    ...core,
    // While the clocks are apart a request is judged as ever, and IssueCode then says why there is no code.
    validateAuthorization: effective(({ session, ...request }, context) =>
      core.validateAuthorization({ ...request, ...(session && watch.isTrue() && { session }) }, context),
    ),
    token: issuing(core.token),
    issueCode: issuing(core.issueCode),
    loginTokens: issuing(core.loginTokens),
  };
}

/** @throws {Refusal} temporarily_unavailable for a call whose last moment has passed: it lay somewhere while this process stood still */
function assertInTime(notAfter: number | undefined, now: number | undefined): void {
  if (notAfter !== undefined && now !== undefined && notAfter < now)
    throw new Refusal("temporarily_unavailable", "deadline_passed", { retryAfter: 1 });
}

/** Where clients and their keys are found that are not in our own rows, and what their assertions have to say. */
function clientSources(config: Config, sql: Sql, keys: Keys, ephemeral: Ephemeral) {
  const loopbackAllowed = config.environment !== "production" && isLoopbackHost(config.host);
  // Separate limits: anonymous callers who name slow hosts must not delay fetching the keys of registered clients.
  const ownFetch = () => guardedFetch({ ownUrl: config.issuer, loopbackAllowed });
  const [key] = keys.own;
  const shared =
    key && sharedDocuments(ephemeral.texts("client-documents"), derivedSecret(key, "client documents"), LONGEST_KEPT, systemClock);
  const documents = clientDocuments({
    fetch: ownFetch(),
    shared: config.redisUrl === undefined ? undefined : shared,
    realms: realms(sql),
    registrationScopes: config.registration.scopes,
    clock: systemClock,
  });
  return {
    documents: config.cimdEnabled ? documents : undefined,
    assertionAudiences: assertionAudiences(config.issuer, config.clientAssertionAudience),
    remoteKeys: remoteKeys(ownFetch(), systemClock),
    consumedIds: consumedIds(sql),
  };
}

/**
 * What accepting identity assertions takes. Issuers on this machine are asked only where the operator names one, and never in production.
 */
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

/** The keys of the configuration; in development those kept under DATA_DIR. The configuration sees to it that production has its own. */
export async function keysOf(config: Config, { sql, kind }: Database): Promise<Keys> {
  const { privateKeyPem, previousPrivateKeyPem, retiredPublicKeysPem, rsaPrivateKeyPem, idTokenSigningAlg } = config.keys;
  const generated =
    privateKeyPem === undefined ||
    (idTokenSigningAlg === "RS256" && rsaPrivateKeyPem === undefined) ||
    (config.pqc.hybrid && config.keys.mldsaPrivateKey === undefined);
  const preferred = privateKeyPem === undefined ? keptKey(config.dataDir, "ed25519", keyFor("EdDSA")) : signingKey(privateKeyPem);
  const ring = {
    accessToken: [preferred, ...(previousPrivateKeyPem === undefined ? [] : [signingKey(previousPrivateKeyPem)])] as const,
    rsa: idTokenSigningAlg === "RS256" ? rsaKey(config) : undefined,
    published: publicKeysOf(retiredPublicKeysPem ?? ""),
    mldsa: await mldsaOf(config),
    // On the embedded database there is no other core that could sign meanwhile; a generated key is for trying things out, and has no
    // predecessor.
    signsAtOnce: kind === "embedded" || generated,
  };
  return openKeys(ring, keyRegister(sql, KEYS_OUTLIVE));
}

/** A key under DATA_DIR. @throws {Error} that names its file when that holds no such key; nothing is written over */
function keptKey<Key>(dataDir: string, kind: "ed25519" | "rsa" | "ml-dsa-65", read: (text: string) => Key): Key {
  try {
    return read(developmentKey(dataDir, kind));
  } catch (cause) {
    if (["EACCES", "EPERM", "EROFS", "ENOSPC"].includes(String(Reflect.get(Object(cause), "code")))) throw cause;
    throw new Error(
      `DATA_DIR: ${resolve(dataDir, "keys", `${kind}.pem`)} holds no readable ${kind} private key; restore it from a backup, or delete it to have a new one made (tokens that the old one signed are then no longer valid).`,
      { cause },
    );
  }
}

/** Reads a key that signs by one algorithm; a key of another kind would sign tokens that nobody expects. @throws {Error} */
const keyFor =
  (alg: "EdDSA" | "RS256") =>
  (text: string): SigningKey => {
    const key = signingKey(text);
    if (key.jwk.alg !== alg) throw new Error(`the key signs by ${key.jwk.alg}, not by ${alg}`);
    return key;
  };

const rsaKey = ({ keys, dataDir }: Config) =>
  keys.rsaPrivateKeyPem === undefined ? keptKey(dataDir, "rsa", keyFor("RS256")) : signingKey(keys.rsaPrivateKeyPem);

/**
 * The ML-DSA-65 key: published wherever there is one, used with HYBRID_SIGNING_ENABLED, which outside production makes one where there is
 * none.
 */
async function mldsaOf(config: Config) {
  const { hybrid } = config.pqc;
  const { mldsaPrivateKey } = config.keys;
  if (mldsaPrivateKey === undefined && !hybrid) return undefined;
  const read = (text: string) => {
    const held = readMldsaPrivate(text);
    if (held === undefined) throw new Error("this is no ML-DSA-65 key");
    return held;
  };
  const held = mldsaPrivateKey === undefined ? keptKey(config.dataDir, "ml-dsa-65", read) : read(mldsaPrivateKey);
  const key = await openMldsaKey(held.seed);
  if (held.publicKey !== undefined && held.publicKey.toString("base64url") !== key.jwk.pub) {
    throw new Error("JWT_MLDSA_PRIVATE_KEY: its pub does not belong to its priv; give the JWK as it was made, or leave pub out.");
  }
  return { key, hybrid };
}
