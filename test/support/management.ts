import { randomBytes } from "node:crypto";
import { systemClock } from "../../src/clock.ts";
import { accountStores, managementPorts as composed } from "../../src/compose/management.ts";
import { providersOf } from "../../src/compose/routes.ts";
import { Refusal } from "../../src/errors.ts";
import { clientApiRoutes } from "../../src/front/api/clients.ts";
import { trpcRoutes } from "../../src/front/api/trpc.ts";
import { AccessTokenUse } from "../../src/gen/countersign/token/v1/token_pb.ts";
import type { ManagementPorts } from "../../src/management/ports.ts";
import { hashSecret, newId } from "../../src/random.ts";
import type { Database } from "../../src/store/orm.ts";
import { users } from "../../src/store/users.ts";
import { OPEN_SIGN_UP } from "./accounts.ts";
import { aBrandings } from "./builders.ts";
import { freshEmbedded } from "./database.ts";
import { coreWith } from "./fake-core.ts";
import { ISSUER, startFront, type TestFront } from "./front.ts";
import { A_SECRET_BOX } from "./secret-box.ts";

export const DEFAULT_REALM = "00000000-0000-7000-8000-000000000001";
const clock = (): number => Math.floor(Date.now() / 1000);
export const aNewId = (): string => newId(clock, randomBytes);

/** A user in the database, without signing up. */
export async function addUser(database: Database, email: string, role: "developer" | "operator" = "developer"): Promise<string> {
  const user = {
    id: aNewId(),
    email,
    realmId: DEFAULT_REALM,
    firstName: null,
    lastName: null,
    role,
    emailVerified: true,
    passwordHash: "x",
  };
  const hash = hashSecret(email);
  const mail = { to: email, subject: "", text: "", html: "" };
  const audit = { event: "user.registered", outcome: "success", actor: { type: "user", id: user.id } } as const;
  await users(database.sql).register(user, { tokenHash: hash, ttl: 60 }, mail, audit);
  return user.id;
}

/** A core that knows the bearer tokens of a test: a user's token is their id, an operator's is `op.` and their id. */
const coreWithUsers = () =>
  coreWith({
    verifyAccessToken: async ({ accessToken, use }) => {
      const [, operator, sub] = /^(op\.)?([0-9a-f-]{36})$/.exec(accessToken) ?? [];
      if (use !== AccessTokenUse.MANAGEMENT || sub === undefined) throw new Refusal("invalid_token", "not_an_access_token");
      return { sub, clientId: "countersign", scopes: [], role: operator === undefined ? "developer" : "operator" };
    },
  });

export interface ManagementFront extends TestFront {
  readonly database: Database;
  readonly ports: ManagementPorts;
  /** One request of a user; the body is sent as JSON. */
  call(bearer: string | undefined, method: string, path: string, body?: unknown): Promise<Response>;
}

/** The management API over HTTP with a database of its own. */
export async function startManagement(members: Partial<ManagementPorts> = {}): Promise<ManagementFront> {
  const database = await freshEmbedded();
  const ports = { ...managementPorts(database), ...members };
  const front = await frontOf(ports);
  return {
    ...front,
    database,
    ports,
    call: (bearer, method, path, body) => callFront(front.url, bearer, method, path, body),
    close: async () => {
      await front.close();
      await database.close();
    },
  };
}

/** Two developers, and an operator with their bearer token. */
export async function managementUsers({ database }: Pick<ManagementFront, "database">) {
  const [ada, bob] = [await addUser(database, "ada@example.test"), await addUser(database, "bob@example.test")];
  return { ada, bob, operator: `op.${await addUser(database, "op@example.test", "operator")}` };
}

const callFront = (url: string, bearer: string | undefined, method: string, path: string, body?: unknown): Promise<Response> =>
  fetch(`${url}${path}`, {
    method,
    headers: {
      ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
    },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });

const DEPLOYMENT: Awaited<ReturnType<ManagementPorts["deployment"]>> = {
  issuer: ISSUER,
  environment: "development",
  signUp: "open",
  trustProxy: false,
  callers: { requests: 0, oneAddress: true, proxyHeadersIgnored: 0 },
  mail: "files",
  postponedMails: 0,
  redis: false,
  certificates: [],
  database: { kind: "embedded", settings: {} },
  unsafe: [],
};

const frontOf = (ports: ManagementPorts): Promise<TestFront> => {
  const faults: unknown[] = [];
  const fault = ({ error }: { readonly error: unknown }) => void faults.push(error);
  const options = { issuer: ISSUER, ports, fault };
  const routes = [...clientApiRoutes(options), ...trpcRoutes(options)];
  const telemetry = { fault, observe: () => {}, refused: () => {} };
  return startFront({ routes, telemetry }).then((front) => ({ ...front, faults }));
};

/** The ports over the real stores; password hashing, which only provisioning needs, is a stub. */
const managementPorts = (database: Database): ManagementPorts => {
  const config = {
    issuer: ISSUER,
    environment: "test",
    host: "127.0.0.1",
    branding: {},
    defaultClientEnvironment: "development",
  } as const;
  const shared = {
    ...accountStores(database.sql, () => undefined),
    issuer: ISSUER,
    core: coreWithUsers(),
    passwords: { hash: async () => "no hash", verify: async () => ({ kind: "wrong" }) as const },
    deployment: async () => DEPLOYMENT,
    settings: { settings: [], limits: [] },
    brandings: aBrandings(),
    box: A_SECRET_BOX,
    providers: providersOf(config, A_SECRET_BOX, systemClock),
    signUpPolicy: OPEN_SIGN_UP,
    clock: systemClock,
    randomBytes,
  };
  return composed(config, database.sql, shared, { draining: () => false, failed: () => undefined });
};
