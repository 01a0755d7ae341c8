import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { knownRevocations } from "../../guard-sdk/src/revocation-marks.ts";
import { systemClock } from "../../src/clock.ts";
import { revocationDigest } from "../../src/core/revocation.ts";
import { tokenCore } from "../../src/core/service.ts";
import type { TokenStates } from "../../src/core/stored-grants.ts";
import { isRefusal } from "../../src/errors.ts";
import {
  IntrospectRequestSchema,
  RevokeRequestSchema,
  type TokenRequest,
  TokenRequestSchema,
} from "../../src/gen/countersign/token/v1/token_pb.ts";
import { hashSecret } from "../../src/random.ts";
import { agentPauses } from "../../src/store/agent-pauses.ts";
import { coalesceReads, coalesceWrites } from "../../src/store/coalesce.ts";
import { consents } from "../../src/store/consents.ts";
import { delegationCuts } from "../../src/store/delegation-repository.ts";
import { sessions } from "../../src/store/sessions.ts";
import { amongKeys, jsonRows, type Sql, statement } from "../../src/store/sql.ts";
import { revocationEvents } from "../../src/store/token-states.ts";
import { managedUsers } from "../../src/store/users.ts";
import { anId, DEFAULT_REALM_ID } from "../support/accounts.ts";
import { aClock } from "../support/clock.ts";
import { coreOver } from "../support/core.ts";
import { aClient } from "../support/grants.ts";
import { aThrottle } from "../support/throttle.ts";

export const SCOPES = ["a", "b", "c"];
export const RESOURCES = ["https://one.example.test/", "https://two.example.test/"];
export const AGENTS = [0, 1, 2];
export const REDIRECT = "https://client.example.test/cb";

const REGISTER = statement(
  "model_user",
  `with i as (select * from jsonb_to_recordset($1::jsonb) as i(id uuid, realm_id uuid, email text))
   insert into users (id, realm_id, email, email_key) select id, realm_id, email, email from i`,
);

/**
 * Moves the database's expiry times back instead of its clock forward. By the indexes: planned while the tables are small, a join alone would go
 * on reading all of them.
 */
const AGE = statement(
  "model_age",
  `with i as materialized (select * from jsonb_to_recordset($1::jsonb) as i(user_id uuid, secs float8)),
   s as (
     update sessions set expires_at = expires_at - make_interval(secs => secs) from i
     where sessions.user_id = i.user_id and ${amongKeys("sessions.user_id", "user_id", "i")}),
   c as (
     update authorization_codes set expires_at = expires_at - make_interval(secs => secs) from i
     where authorization_codes.user_id = i.user_id and ${amongKeys("authorization_codes.user_id", "user_id", "i")})
   update refresh_families set expires_at = expires_at - make_interval(secs => secs), ends_at = ends_at - make_interval(secs => secs)
   from i join grants on grants.user_id = i.user_id
   where refresh_families.grant_id = grants.id
     and ${amongKeys("refresh_families.grant_id", "id", `grants where ${amongKeys("user_id", "user_id", "i")}`)}`,
);

const ENABLE = statement(
  "model_enable",
  `update clients set enabled = i.enabled from jsonb_to_recordset($1::jsonb) as i(client_id text, enabled boolean)
   where clients.client_id = i.client_id and clients.enabled <> i.enabled`,
);

const RECORDS = statement(
  "model_records",
  // Each by the index: planned for all of them while the table is small, it would go on reading the whole table.
  "select key, (select count(*)::int from audit_records where request_id = key) as n from unnest($1::text[]) as key",
);

/** Concurrent statements and transactions: fewer than there are connections. */
const AT_A_TIME = 6;

/** The database behind a queue: sequences wait for their turn, where a server under load would refuse. */
function inTurn(sql: Sql): Sql {
  const waiting: (() => void)[] = [];
  let under = 0;
  const turn = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (under >= AT_A_TIME) await new Promise<void>((resolve) => waiting.push(resolve));
    else under += 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) under -= 1;
      else next(); // takes over the turn
    }
  };
  return {
    query: (...given) => turn(() => sql.query(...given)),
    transaction: (work) => turn(() => sql.transaction(work)),
  };
}

/** What all lanes share, so that their concurrent statements are batched together. */
export async function openWorld(database: Sql) {
  const sql = inTurn(database);
  await sql.query(statement("model_index", "create index if not exists model_requests on audit_records (request_id)"), []);
  const { ports } = await coreOver(sql, systemClock);
  const changing = <Row extends { readonly [member: string]: string | number | boolean }>(on: ReturnType<typeof statement>) =>
    coalesceWrites(async (rows: readonly Row[]) => {
      await sql.query(on, [jsonRows(rows)]);
      return rows.map(() => undefined);
    });
  const marks = knownRevocations();
  let cursor: string | undefined;
  let reading = Promise.resolve();
  /** A read that has not started yet serves every caller until it starts. */
  let next: Promise<void> | undefined;
  const read = async (): Promise<void> => {
    const page = await revocationEvents(sql).since(cursor);
    const news = page.marks.map((mark) => ({ ...mark, digest: revocationDigest(mark), sequence: BigInt(mark.sequence) }));
    marks.take({ marks: news, cursor: page.cursor, reset: page.whole }, 0);
    cursor = page.cursor;
  };
  return {
    sql,
    ports,
    /** The revocation events that a guard knows after reading up to now. */
    async revocationEvents() {
      next ??= reading.then(() => {
        next = undefined;
        reading = read();
        return reading;
      });
      await next;
      return marks;
    },
    register: changing<{ id: string; realm_id: string; email: string }>(REGISTER),
    age: changing<{ user_id: string; secs: number }>(AGE),
    enable: changing<{ client_id: string; enabled: boolean }>(ENABLE),
    records: coalesceReads(async (requestIds: readonly string[]) => {
      const rows = await sql.query<{ key: string; n: number }>(RECORDS, [requestIds]);
      return new Map(rows.map(({ key, n }) => [key, n]));
    }, String),
  };
}
export type World = Awaited<ReturnType<typeof openWorld>>;

const confidential = { tokenEndpointAuthMethod: "client_secret_basic", secretHash: hashSecret("s") } as const;

/** Clients of one lane, and a core with a clock of its own over the shared stores. */
export async function openLane(world: World, name: string) {
  const { sql, ports } = world;
  const clock = aClock(systemClock());
  const [app, resourceServer] = [`${name}-app`, `${name}-rs`];
  const agents = AGENTS.map((agent) => `${name}-agent-${agent}`);
  const grantTypes = ["client_credentials", "urn:ietf:params:oauth:grant-type:token-exchange"] as const;
  await aClient(sql, { ...confidential, clientId: app, scopes: SCOPES, redirectUris: [REDIRECT] });
  for (const clientId of agents)
    await aClient(sql, { ...confidential, clientId, scopes: SCOPES, grantTypes: [...grantTypes], isAgent: true });
  await aClient(sql, { ...confidential, clientId: resourceServer, audience: [...RESOURCES, ...agents, app] });
  // The lane's clock also replaces the database's, by which tokens expire.
  const tokens: TokenStates = {
    of: async (token) => ({ ...(await ports.tokens.of(token)), now: clock.now() }),
    revoke: (token, expiresAt, audit) => ports.tokens.revoke(token, expiresAt - (clock.now() - systemClock()), audit),
  };
  const core = tokenCore({ ...ports, tokens, clock: clock.now, throttle: aThrottle(clock.now) });
  /** A new address for each call, so that refusals of a disabled client are not throttled. */
  const client = (clientId: string) => ({ basic: { clientId, clientSecret: "s" }, address: anId() });

  return {
    world,
    core,
    clock,
    app,
    agents,
    sessions: sessions(sql),
    consents: consents(sql),
    users: managedUsers(sql),
    pauses: agentPauses(sql),
    cut: delegationCuts(sql),
    /** The response to a token request; undefined when it is refused. */
    token: (clientId: string, requestId: string, grant: NonNullable<MessageInitShape<typeof TokenRequestSchema>["grant"]>) =>
      unlessRefused(core.token(create(TokenRequestSchema, { client: client(clientId), requestId, grant }) as TokenRequest, {})),
    revoke: (clientId: string, requestId: string, token: string) =>
      unlessRefused(core.revoke(create(RevokeRequestSchema, { client: client(clientId), token, requestId }), {})),
    async active(tokens: readonly string[]): Promise<readonly boolean[]> {
      if (tokens.length === 0) return [];
      const request = create(IntrospectRequestSchema, { client: client(resourceServer), tokens: [...tokens] });
      return (await core.introspect(request, {})).results?.map(({ active }) => active === true) ?? [];
    },
    /** Registers a new user and enables all clients. */
    async begin(): Promise<string> {
      const id = anId();
      await world.register({ id, realm_id: DEFAULT_REALM_ID, email: `${id}@example.test` });
      await Promise.all([app, ...agents].map((client_id) => world.enable({ client_id, enabled: true })));
      return id;
    },
  };
}
export type Lane = Awaited<ReturnType<typeof openLane>>;

export async function unlessRefused<Answer>(asked: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (isRefusal(error) && error.code !== "temporarily_unavailable") return undefined;
    throw error;
  }
}
