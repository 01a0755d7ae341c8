import { randomBytes } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { type PasswordCost, passwordHashing } from "./accounts/password-hash.ts";
import { epochMillis } from "./clock.ts";
import { composeCore, keysOf } from "./compose/core.ts";
import { composeFront } from "./compose/front.ts";
import { housekeeping } from "./compose/housekeeping.ts";
import { observedCore } from "./compose/observed-core.ts";
import { asStartFault, connectConfigured, openConfigured, listening as opened } from "./compose/opening.ts";
import { periodically } from "./compose/periodically.ts";
import { refusalLog } from "./compose/refusal-log.ts";
import { sealing } from "./compose/sealing.ts";
import type { Config, Role } from "./config.ts";
import { databaseClock } from "./core/database-clock.ts";
import { startGrpcListener } from "./grpc/listener.ts";
import { localTokenCore, type TokenCore } from "./grpc/local.ts";
import type { Provisioner, ProvisionSummary } from "./management/ports.ts";
import { asProvisionError, type ProvisionFile, readProvisionFile } from "./management/provision.ts";
import { GRANT_LABELS } from "./protocol/grants.ts";
import { DirectoryInUse } from "./store/directory-lock.ts";
import { openEphemeral } from "./store/ephemeral/open.ts";
import type { Database } from "./store/orm.ts";
import { provisioner } from "./store/provisioning.ts";
import { type Readiness, readiness, watchWrites } from "./store/readiness.ts";
import { revocationEvents } from "./store/revocation-events.ts";
import { createLog, type Log } from "./telemetry/log.ts";
import { createMetrics } from "./telemetry/metrics.ts";
import type { LogSink } from "./telemetry/stdout.ts";

/** A running process. */
export interface Running {
  /** Base URL of the front, where there is one, as clients know it. */
  readonly url: string | undefined;
  /** Where the front listens, as a URL of this machine. */
  readonly listening: string | undefined;
  readonly grpcPort: number | undefined;
  readonly log: Log;
  /** Loads, bit by bit, what requests may need and the start did not wait for. Never throws. */
  warmUp(): Promise<void>;
  /** Says goodbye in health, serves on for `lingerSeconds`, finishes what is under way, closes everything. */
  close(lingerSeconds: number): Promise<void>;
}

/** What a test may bring along. */
export interface Given {
  /** Opened and closed by whoever gives it. */
  readonly database?: Database;
  readonly provision?: ProvisionFile;
  /** Takes the log's lines instead of standard output. */
  readonly logSink?: LogSink;
  /** What a password hash costs instead of the production cost. */
  readonly passwordCost?: PasswordCost;
}

/** Milliseconds between two loads after the start, in which requests are answered. */
const BREATH = 50;

/** Seconds between two looks at the database's clock, by which the deadlines of calls are reckoned. */
const CLOCK_EVERY = 5;

/** Seconds that what is in flight may take after the listeners have closed. */
const GRACE = 20;

/** Builds the process that a role and its settings describe, and starts it. The only place where rooms are wired together. */
export async function compose(config: Config, role: Role, given: Given = {}): Promise<Running> {
  const log = createLog({ level: config.logLevel, role, ...(given.logSink && { sink: given.logSink }) });
  const onFault = (error: unknown, where: string): void => log.error("fault", { route: where, error });
  const failed = (error: unknown): void => log.warn("background_work_failed", { error });
  /** What is to be closed, in the reverse order of its opening. */
  const closing: (() => Promise<void>)[] = [];
  const closeAll = async (): Promise<void> => {
    for (const close of closing.splice(0).reverse()) await close().catch(failed);
  };

  try {
    const database = given.database ?? (await openConfigured(config));
    if (given.database === undefined) closing.push(() => database.close());
    if (role === "front") for (const setting of unusedKeys(config)) log.warn("front_signs_nothing", { setting });
    if (database.kind === "embedded" && config.environment === "production") log.warn("embedded_database_in_production");
    const watched = watchWrites(database.sql);
    const { sql } = watched;
    const passwords = passwordHashing({ randomBytes, ...(given.passwordCost && { cost: given.passwordCost }) });
    const named = `PROVISION_FILE ${config.provisionFile}`;
    const plan = given.provision ?? (config.provisionFile === undefined ? undefined : readProvisionFile(config.provisionFile, named));
    if (plan !== undefined) await applied(provisioner(sql, passwords), plan, named);

    const routes = new Set<string>();
    const metrics = createMetrics(routes, GRANT_LABELS);
    const ready = readiness(sql, watched.full);
    const clock = databaseClock(ready.time, epochMillis, () => performance.now());
    // A database that does not answer is reported elsewhere.
    const lookAtClock = () => clock.measure().catch(() => undefined);
    await lookAtClock();
    const looking = periodically(CLOCK_EVERY, lookAtClock, failed);
    closing.push(() => looking.stop());
    const ephemeral = await openEphemeral(config.redisUrl, config.issuer, log);
    closing.push(() => ephemeral.close());
    const keys = role === "front" ? undefined : await keysOf(config, database);
    const refusals = refusalLog(log);
    const core =
      keys && refusals.observing(await composeCore(config, sql, keys, { log, databaseClock: clock, ephemeral, failed, closing }));
    const loads: (() => Promise<unknown>)[] = [];
    const drains: ((lingerSeconds: number) => Promise<void>)[] = [];
    let grpcPort: number | undefined;
    if (core !== undefined) {
      const { host, port, tlsCert: cert, tlsKey: key, clientCa } = config.grpc;
      const tls = cert !== undefined && key !== undefined ? { cert, key, ...(clientCa !== undefined && { clientCa }) } : undefined;
      const fronts = role === "core" ? { secret: config.tokenCore.secret } : undefined;
      const local: TokenCore = observedCore(localTokenCore(core), metrics);
      const revocations = revocationEvents(sql);
      const listener = await opened({ setting: "GRPC_PORT", port, host }, () =>
        startGrpcListener({ host, port, core: local, tls, fronts, onFault, revocations }),
      );
      grpcPort = listener.port;
      loads.push(listener.load);
      const heartbeat = periodically(2, async () => listener.setServing(await answers(ready)), failed);
      listener.setServing(true);
      drains.push(async (lingerSeconds) => {
        await heartbeat.stop();
        listener.setServing(false);
        await setTimeout(lingerSeconds * 1000);
        await listener.close(GRACE);
      });
    }
    let url: string | undefined;
    let listening: string | undefined;
    if (role !== "core") {
      const front = await composeFront(config, sql, {
        core,
        log,
        refusals,
        metrics,
        routes,
        passwords,
        ephemeral,
        ready,
        databaseClock: clock,
        failed,
        closing,
      });
      url = config.issuer;
      listening = front.listening;
      loads.push(...front.loads);
      drains.push(front.drain);
    }
    closing.push(housekeeping(database, { metrics, failed }), sealing(config.issuer, keys, database, failed));
    log.info("started", { ...(url !== undefined && { port: config.port }) });

    return {
      url,
      listening,
      grpcPort,
      log,
      async warmUp() {
        for (const load of loads) {
          await load().catch(failed);
          await setTimeout(BREATH, undefined, { ref: false });
        }
      },
      async close(lingerSeconds) {
        await Promise.all(drains.map((drain) => drain(lingerSeconds).catch(failed)));
        await closeAll();
        log.info("stopped");
      },
    };
  } catch (error) {
    await closeAll();
    throw error;
  }
}

/** Keys that were given to a front, which has no use for them and is better off without. */
const unusedKeys = ({ keys }: Config): readonly string[] =>
  Object.entries({
    JWT_PRIVATE_KEY: keys.privateKeyPem,
    JWT_PREVIOUS_PRIVATE_KEY: keys.previousPrivateKeyPem,
    JWT_RSA_PRIVATE_KEY: keys.rsaPrivateKeyPem,
    JWT_MLDSA_PRIVATE_KEY: keys.mldsaPrivateKey,
  }).flatMap(([setting, key]) => (key === undefined ? [] : [setting]));

/** Whether the database answers. */
const answers = (ready: Readiness): Promise<boolean> =>
  ready.ping().then(
    () => true,
    () => false,
  );

/** `countersign migrate`. @returns the names of the migrations that ran */
export async function migrateOnly(config: Config): Promise<readonly string[]> {
  const database = await connectConfigured(config).catch((error: unknown) => {
    throw asStartFault(error, config);
  });
  try {
    return await database.migrate();
  } catch (error) {
    throw asStartFault(error, config);
  } finally {
    await database.close();
  }
}

/** @param named how the file is called in its faults  @throws {ProvisionError} */
const applied = (to: Provisioner, plan: ProvisionFile, named: string): Promise<ProvisionSummary> =>
  to.apply(plan).catch((error: unknown) => {
    throw asProvisionError(error, named);
  });

/** `countersign provision FILE` on a database that this process can open by itself. */
export async function provisionOnly(config: Config, plan: ProvisionFile, file: string): Promise<ProvisionSummary> {
  const database = await openConfigured(config).catch((error: unknown) => {
    throw error instanceof DirectoryInUse
      ? new Error(`${error.message}. A running server takes the file with --server.`, { cause: error })
      : error;
  });
  try {
    return await applied(provisioner(database.sql, passwordHashing({ randomBytes })), plan, file);
  } finally {
    await database.close();
  }
}
