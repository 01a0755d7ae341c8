import { randomBytes } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { firstOperatorLink } from "./accounts/invitations.ts";
import { type PasswordCost, type PasswordHashing, passwordHashing } from "./accounts/password-hash.ts";
import { epochMillis } from "./clock.ts";
import { type StartedSide, type Surroundings, startCore } from "./compose/core.ts";
import { composeFront } from "./compose/front.ts";
import { housekeeping } from "./compose/housekeeping.ts";
import { keysOf } from "./compose/keys.ts";
import { refusalLog } from "./compose/observed-core.ts";
import { asStartFault, assertPortsFree, connectConfigured, openConfigured } from "./compose/opening.ts";
import { periodically } from "./compose/periodically.ts";
import { sealing } from "./compose/sealing.ts";
import type { Config, Role } from "./config.ts";
import { type DatabaseClock, databaseClock } from "./core/clocks.ts";
import type { Provisioner, ProvisionSummary } from "./management/ports.ts";
import { asProvisionError, type ProvisionFile, readProvisionFile } from "./management/provision.ts";
import { GRANT_LABELS } from "./protocol/grants.ts";
import { type Readiness, readiness, watchWrites } from "./store/availability.ts";
import { DirectoryInUse } from "./store/directory-lock.ts";
import { openEphemeral } from "./store/ephemeral/open.ts";
import { invitations } from "./store/invitations.ts";
import type { Database } from "./store/orm.ts";
import { provisioner } from "./store/provisioning.ts";
import type { Sql } from "./store/sql.ts";
import { createLog, type Log } from "./telemetry/log.ts";
import { createMetrics } from "./telemetry/metrics.ts";
import type { LogSink } from "./telemetry/stdout.ts";

/** A running process. */
export interface Running {
  /** Issuer URL of the front; undefined for a core. */
  readonly url: string | undefined;
  /** URL of the front on this machine. */
  readonly listening: string | undefined;
  readonly grpcPort: number | undefined;
  readonly log: Log;
  /** A new link for the first operator, in place of an earlier one; undefined where there is an operator, and for a core. */
  firstOperatorLink(): Promise<string | undefined>;
  /** Loads, piece by piece, what the start deferred. Never throws. */
  warmUp(): Promise<void>;
  /** Reports itself as not serving, serves for `lingerSeconds` more, finishes requests in flight, then closes everything. */
  close(lingerSeconds: number): Promise<void>;
}

/** Parts that tests may provide. */
export interface Given {
  /** The caller opens and closes it. */
  readonly database?: Database;
  readonly provision?: ProvisionFile;
  /** Default: standard output. */
  readonly logSink?: LogSink;
  /** Default: the production cost. */
  readonly passwordCost?: PasswordCost;
}

/** Milliseconds between two deferred loads, so that requests are answered in between. */
const LOAD_PAUSE = 50;

/** Seconds between two readings of the database's clock, on which call deadlines are based. */
const CLOCK_EVERY = 5;

/** Builds and starts the process that a role and its settings describe. */
export async function compose(config: Config, role: Role, given: Given = {}): Promise<Running> {
  const log = createLog({ level: config.logLevel, role, ...(given.logSink && { sink: given.logSink }) });
  const failed = (error: unknown): void => log.warn("background_work_failed", { error });
  const closing: (() => Promise<void>)[] = [];
  const closeAll = async (): Promise<void> => {
    for (const close of closing.splice(0).reverse()) await close().catch(failed);
  };
  try {
    const { sides, grpcPort, listening, sql } = await start(config, role, given, { log, failed, closing });
    const url = listening === undefined ? undefined : config.issuer;
    log.info("started", { ...(url !== undefined && { port: config.port }) });
    return {
      url,
      listening,
      grpcPort,
      log,
      firstOperatorLink: async () =>
        url === undefined ? undefined : firstOperatorLink({ invitations: invitations(sql), randomBytes, issuer: url }),
      async warmUp() {
        for (const load of sides.flatMap(({ loads }) => loads)) {
          await load().catch(failed);
          await setTimeout(LOAD_PAUSE, undefined, { ref: false });
        }
      },
      async close(lingerSeconds) {
        await Promise.all(sides.map(({ drain }) => drain(lingerSeconds).catch(failed)));
        await closeAll();
        log.info("stopped");
      },
    };
  } catch (error) {
    await closeAll();
    throw error;
  }
}

type Essentials = Pick<Surroundings, "log" | "failed" | "closing">;

/** Opens the stores, provisions them, and starts core and front as the role says. */
async function start(config: Config, role: Role, given: Given, essentials: Essentials) {
  const { log, failed, closing } = essentials;
  await assertPortsFree(config, role);
  const database = given.database ?? (await openConfigured(config));
  if (given.database === undefined) closing.push(() => database.close());
  if (role === "front") for (const setting of unusedKeys(config)) log.warn("front_signs_nothing", { setting });
  if (database.kind === "embedded" && config.environment === "production") log.warn("embedded_database_in_production");
  const { sql, full } = watchWrites(database.sql);
  const passwords = passwordHashing({ randomBytes, ...(given.passwordCost && { cost: given.passwordCost }) });
  await provision(config, given, sql, passwords);

  const routes = new Set<string>();
  const ready = readiness(sql, full);
  const ephemeral = await openEphemeral(config.redisUrl, config.issuer, log);
  closing.push(() => ephemeral.close());
  const around: Surroundings = {
    ...essentials,
    metrics: createMetrics(routes, GRANT_LABELS),
    refusals: refusalLog(log),
    ready,
    databaseClock: await openClock(ready, essentials),
    ephemeral,
  };
  const keys = role === "front" ? undefined : await keysOf(config, database);
  const core = keys && (await startCore(config, role, sql, keys, around));
  const front = role === "core" ? undefined : await composeFront(config, sql, { ...around, core: core?.core, routes, passwords });
  closing.push(housekeeping(database, { metrics: around.metrics, failed }), sealing(config.issuer, keys, database, failed));
  const sides: readonly StartedSide[] = [core, front].filter((side) => side !== undefined);
  return { sides, sql, grpcPort: core?.port, listening: front?.listening };
}

async function openClock(ready: Readiness, { failed, closing }: Essentials): Promise<DatabaseClock> {
  const clock = databaseClock(ready.time, epochMillis, performance.now.bind(performance));
  const read = () => clock.measure().catch(() => undefined); // an unreachable database is reported elsewhere
  await read();
  const reading = periodically(CLOCK_EVERY, read, failed);
  closing.push(() => reading.stop());
  return clock;
}

/** Applies PROVISION_FILE. @throws {ProvisionError} */
async function provision({ provisionFile }: Config, given: Given, sql: Sql, passwords: PasswordHashing): Promise<void> {
  const name = `PROVISION_FILE ${provisionFile}`;
  const plan = given.provision ?? (provisionFile === undefined ? undefined : readProvisionFile(provisionFile, name));
  if (plan !== undefined) await applied(provisioner(sql, passwords), plan, name);
}

/** Names of the settings with private keys that a front has but does not use. */
const unusedKeys = ({ keys }: Config): readonly string[] =>
  Object.entries({
    JWT_PRIVATE_KEY: keys.privateKeyPem,
    JWT_PREVIOUS_PRIVATE_KEY: keys.previousPrivateKeyPem,
    JWT_RSA_PRIVATE_KEY: keys.rsaPrivateKeyPem,
    JWT_MLDSA_PRIVATE_KEY: keys.mldsaPrivateKey,
  }).flatMap(([setting, key]) => (key === undefined ? [] : [setting]));

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

/** @param name of the file in error messages  @throws {ProvisionError} */
const applied = (to: Provisioner, plan: ProvisionFile, name: string): Promise<ProvisionSummary> =>
  to.apply(plan).catch((error: unknown) => {
    throw asProvisionError(error, name);
  });

/** `countersign provision FILE` on a database that this process opens itself. */
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
