import { randomBytes } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { type PasswordCost, type PasswordHashing, passwordHashing } from "./accounts/password-hash.ts";
import { firstOperatorLink } from "./accounts/registration.ts";
import { epochMillis } from "./clock.ts";
import { streamingAudit } from "./compose/audit-streaming.ts";
import { type Surroundings, startCore } from "./compose/core.ts";
import { type DatabaseOutages, databaseOutages } from "./compose/database-outages.ts";
import { reportingCertificates } from "./compose/deployment.ts";
import { composeFront } from "./compose/front.ts";
import { housekeeping, retainingAudit, sealing } from "./compose/housekeeping.ts";
import { awaitNotice, keysOf, vaultOf } from "./compose/keys.ts";
import { asStartFault, assertPortsFree, connectConfigured, openConfigured, openEphemeral } from "./compose/opening.ts";
import { type Failed, periodically } from "./compose/periodically.ts";
import { exporting, refusalLog, tracedSql } from "./compose/telemetry.ts";
import { isWorker, metricsOfAll } from "./compose/worker.ts";
import type { Config, Role } from "./config.ts";
import { type DatabaseClock, databaseClock, TOLERANCE } from "./core/clocks.ts";
import { isRefusal } from "./errors.ts";
import type { ProvisionDifference, Provisioner, ProvisionSummary } from "./management/ports.ts";
import { asProvisionError, type ProvisionFile, readProvisionFile } from "./management/provision.ts";
import { GRANT_LABELS } from "./protocol/grants.ts";
import { type Readiness, readiness } from "./store/availability.ts";
import { DirectoryInUse } from "./store/directory-lock.ts";
import { invitations } from "./store/invitations.ts";
import type { Database } from "./store/orm.ts";
import { provisioner } from "./store/provisioning.ts";
import type { Sql } from "./store/sql.ts";
import { createLog } from "./telemetry/log.ts";
import { createMetrics } from "./telemetry/metrics.ts";
import type { LogSink } from "./telemetry/stdout.ts";

export type Running = Awaited<ReturnType<typeof compose>>;

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

/** Seconds between two readings of the database's clock, and between two warnings that this process's clock is wrong. */
const CLOCK_EVERY = 5;
const WARN_EVERY = 30;

/** Builds and starts the process that a role and its settings describe. */
export async function compose(config: Config, role: Role, given: Given = {}) {
  const log = createLog({ level: config.logLevel, role, ...(given.logSink && { sink: given.logSink }) });
  const outages = databaseOutages(log, performance.now.bind(performance));
  const { failed } = outages;
  const background: (() => Promise<void>)[] = [];
  const closing: (() => Promise<void>)[] = [];
  const stopBackground = () => Promise.all(background.splice(0).map((stop) => stop().catch(failed)));
  const closeAll = async (): Promise<void> => {
    await stopBackground();
    for (const close of closing.splice(0).reverse()) await close().catch(failed);
  };
  try {
    const { sides, grpcPort, listening, sql } = await start(config, role, given, { log, failed, background, closing }, outages);
    const url = listening === undefined ? undefined : config.issuer;
    log.info("started", { ...(url !== undefined && { port: config.port }) });
    return {
      /** Issuer URL of the front; undefined for a core. */
      url,
      /** URL of the front on this machine. */
      listening,
      grpcPort,
      log,
      /** A new link for the first operator, in place of an earlier one; undefined where there is an operator, and for a core. */
      firstOperatorLink: async () =>
        url === undefined ? undefined : firstOperatorLink({ invitations: invitations(sql), randomBytes, issuer: url }),
      hasOperator: () => invitations(sql).hasOperator(),
      /** Loads, piece by piece, what the start deferred. Never throws. */
      async warmUp() {
        for (const load of sides.flatMap(({ loads }) => loads)) {
          await load().catch(failed);
          await setTimeout(LOAD_PAUSE, undefined, { ref: false });
        }
      },
      /** Reports itself as not serving, serves for `lingerSeconds` more, finishes requests in flight, then closes everything. */
      async close(lingerSeconds: number) {
        await Promise.all([stopBackground(), ...sides.map(({ drain }) => drain(lingerSeconds).catch(failed))]);
        await closeAll();
        log.info("stopped");
      },
    };
  } catch (error) {
    await closeAll();
    throw isRefusal(error) ? asStartFault(error, config) : error;
  }
}

type Essentials = Pick<Surroundings, "log" | "failed" | "background" | "closing">;

/** Opens the stores, provisions them, and starts core and front as the role says. */
async function start(config: Config, role: Role, given: Given, essentials: Essentials, outages: DatabaseOutages) {
  const { log, background, closing } = essentials;
  const routes = new Set<string>();
  if (!isWorker()) await assertPortsFree(config, role); // its supervisor did
  const database = given.database ?? (await openConfigured(config, outages.disk));
  if (given.database === undefined) closing.push(() => database.close());
  for (const { setting, needed } of config.withoutEffect) log.warn("setting_without_effect", { setting, needed });
  if (role === "front") for (const setting of unusedKeys(config)) log.warn("front_signs_nothing", { setting });
  if (database.kind === "embedded" && config.environment === "production") log.warn("embedded_database_in_production");
  const metrics = createMetrics(routes, GRANT_LABELS, isWorker() ? metricsOfAll() : undefined);
  const failed: Failed = (error, work) => {
    if (work !== undefined) metrics.backgroundFailure(work);
    essentials.failed(error, work);
  };
  background.push(reportingCertificates(config, metrics, log, failed));
  const tracing = await exporting(config, role, metrics, essentials);
  const sql = tracedSql(database.sql, tracing);
  const passwords = passwordHashing({ randomBytes, ...(given.passwordCost && { cost: given.passwordCost }) });
  await provision(config, given, sql, passwords);

  const ready = readiness(sql, database.full);
  const ephemeral = await openEphemeral(config, log);
  closing.push(() => ephemeral.close());
  const around: Surroundings = {
    ...essentials,
    failed,
    metrics,
    refusals: refusalLog(log),
    ready,
    diskIsFull: outages.diskIsFull,
    databaseClock: await openClock(ready, essentials, outages),
    ephemeral,
    tracing,
  };
  const keys = role === "front" ? undefined : await keysOf(config, database, around.databaseClock.seconds);
  if (keys !== undefined) await awaitNotice(keys, log, failed);
  const core = keys && (await startCore(config, role, sql, keys, around));
  const front = role === "core" ? undefined : await composeFront(config, sql, { ...around, core: core?.core, routes, passwords });
  background.push(
    retainingAudit(config, { ...database, sql }, { metrics, failed }),
    streamingAudit(config, sql, { log, metrics, failed }),
    housekeeping(database, { metrics, failed }),
  );
  closing.push(sealing(config.issuer, keys, database, failed));
  const sides = [core, front].filter((side) => side !== undefined);
  return { sides, sql, grpcPort: core?.port, listening: front?.listening };
}

async function openClock(ready: Readiness, { log, failed, closing }: Essentials, outages: DatabaseOutages): Promise<DatabaseClock> {
  const clock = databaseClock(ready.time, epochMillis, performance.now.bind(performance));
  const read = () => clock.measure().then(ready.writes).then(outages.answered, outages.unanswered);
  const warn = async () => {
    if (Math.abs(clock.offset()) > TOLERANCE) log.warn("clock_offset", { seconds: Math.round(clock.offset()) });
  };
  await read();
  await warn();
  const work = [periodically(CLOCK_EVERY, read, failed), periodically(WARN_EVERY, warn, failed)];
  closing.push(async () => void (await Promise.all(work.map((stop) => stop()))));
  return clock;
}

/** Applies PROVISION_FILE. @throws {ProvisionError} */
async function provision(config: Config, given: Given, sql: Sql, passwords: PasswordHashing): Promise<void> {
  const { provisionFile } = config;
  const name = `PROVISION_FILE ${provisionFile}`;
  const plan = given.provision ?? (provisionFile === undefined ? undefined : readProvisionFile(provisionFile, name));
  if (plan !== undefined) await naming(name, provisioner(sql, passwords, { issuer: config.issuer, box: vaultOf(config) }).apply(plan));
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
  try {
    const database = await connectConfigured(config);
    return await database.migrate().finally(() => database.close());
  } catch (error) {
    throw asStartFault(error, config);
  }
}

/** @param name of the file in error messages  @throws {ProvisionError} */
const naming = <Result>(name: string, done: Promise<Result>): Promise<Result> =>
  done.catch((error: unknown) => {
    throw asProvisionError(error, name);
  });

/** Runs a command on a database that this process opens itself. @param whenInUse what to do while a server has it */
async function onDatabase<Result>(config: Config, whenInUse: string, work: (sql: Sql) => Promise<Result>): Promise<Result> {
  const database = await openConfigured(config).catch((error: unknown) => {
    throw error instanceof DirectoryInUse ? new Error(`${error.message}. ${whenInUse}`, { cause: error }) : error;
  });
  try {
    return await work(database.sql);
  } finally {
    await database.close();
  }
}

const onProvisioner = <Result>(config: Config, file: string, work: (provisioner: Provisioner) => Promise<Result>): Promise<Result> =>
  onDatabase(config, "A running server takes the file with --server.", (sql) =>
    naming(file, work(provisioner(sql, passwordHashing({ randomBytes }), { issuer: config.issuer, box: vaultOf(config) }))),
  );

/** `countersign provision FILE` */
export const provisionOnly = (config: Config, plan: ProvisionFile, file: string): Promise<ProvisionSummary> =>
  onProvisioner(config, file, (provisioner) => provisioner.apply(plan));

/** `countersign provision FILE --dry-run`, which migrates nothing either. */
export const previewOnly = (config: Config, plan: ProvisionFile, file: string): Promise<readonly ProvisionDifference[]> =>
  onProvisioner({ ...config, migrateOnStart: false }, file, (provisioner) => provisioner.preview(plan));

/** `countersign setup-link` @returns undefined where there is an operator */
export const setupLinkOnly = (config: Config): Promise<string | undefined> =>
  onDatabase(config, "Stop the server, run this again, and start it within the time of the link.", (sql) =>
    firstOperatorLink({ invitations: invitations(sql), randomBytes, issuer: config.issuer }),
  );
