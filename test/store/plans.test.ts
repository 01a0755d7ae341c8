import type pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { auditLog } from "../../src/store/audit-log.ts";
import { auditSealer } from "../../src/store/audit-sealer.ts";
import { auditTrail } from "../../src/store/audit-trail.ts";
import { authorizationCodes } from "../../src/store/authorization-codes.ts";
import { clientDirectory, managedClients } from "../../src/store/clients.ts";
import { consentRepository, consents } from "../../src/store/consents.ts";
import { consumedIds } from "../../src/store/consumed-ids.ts";
import { delegations } from "../../src/store/delegations.ts";
import { grants } from "../../src/store/grants.ts";
import { type Database, openDatabase } from "../../src/store/orm.ts";
import { refreshFamilies } from "../../src/store/refresh-families.ts";
import { sessions } from "../../src/store/sessions.ts";
import type { Parameter, Sql, Statement } from "../../src/store/sql.ts";
import { sweep } from "../../src/store/sweep.ts";
import { tokenStates } from "../../src/store/token-states.ts";
import { aHash, anAudit, anId } from "../support/accounts.ts";
import { connect, fill } from "../support/filled.ts";
import { aBinding, aFamily, aGrant, type Scene } from "../support/grants.ts";
import { furtherLists, joinedLists, largestLists } from "../support/list-questions.ts";
import { emptyPostgresDatabase, TEST_DATABASE_URL } from "../support/postgres.ts";

interface StatementCall {
  readonly statement: Statement;
  readonly parameters: readonly Parameter[];
}

interface PlanNode {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "CTE Name"?: string;
  readonly "Parent Relationship"?: string;
  readonly "Subplan Name"?: string;
  readonly "Total Cost"?: number;
  readonly Plans?: readonly PlanNode[];
}

/** Number of rows from which on a sequential scan of a table is a fault. */
const MANY = 5_000;
/** Number of rows at which the costs of every index and scan are far apart. */
const ENOUGH = 600_000;
/** Tables with lists. */
const LISTED = [
  ...["clients", "connections", "realms", "resources", "scope_descriptions"],
  ...["users", "workload_identities", "workload_issuers"],
];
/** Indexes that select far more rows than a batch needs. */
const TOO_WIDE = new Set(["authorization_codes_expires_at_index", "consents_client_id_id_index", "grants_created_at_index"]);

const literal = (value: Parameter): string => {
  if (value === null) return "null";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  const text =
    value instanceof Uint8Array
      ? `\\x${Buffer.from(value).toString("hex")}`
      : Array.isArray(value)
        ? `{${value.map((one) => JSON.stringify(one)).join(",")}}`
        : String(value);
  return `'${text.replaceAll("'", "''")}'`;
};

/** A statement with a name has one plan for all values. */
const keyOf = ({ statement, parameters }: StatementCall): string => statement.name || `${statement.text} ${JSON.stringify(parameters)}`;

/** A statement without a name is planned for its values each time. */
const modesOf = ({ statement }: StatementCall) =>
  statement.name === "" ? (["force_custom_plan"] as const) : (["force_generic_plan", "force_custom_plan"] as const);

/** What a join begins with. */
function firstOf(node: PlanNode): PlanNode {
  const outer = node.Plans?.find((plan) => plan["Parent Relationship"] === "Outer");
  return outer === undefined ? node : firstOf(outer);
}
const nodesOf = (node: PlanNode): readonly PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

if (TEST_DATABASE_URL !== undefined)
  describe("query plans of the statements that run for each request", () => {
    let database: Database;
    let client: pg.Client;
    let url: string;
    let drop: () => Promise<void>;
    beforeAll(async () => {
      const made = await emptyPostgresDatabase(TEST_DATABASE_URL as string);
      ({ url, drop } = made);
      database = await openDatabase({ url: made.url });
      client = await connect(made.url);
    });
    afterAll(async () => {
      await client.end();
      await database.close();
      await drop();
    });

    /** The statements that the stores run during `work`, by name. */
    async function statementsOf(work: (sql: Sql) => Promise<unknown>): Promise<ReadonlyMap<string, StatementCall>> {
      const all = new Map<string, StatementCall>();
      const query: Sql["query"] = (statement, parameters) => {
        all.set(keyOf({ statement, parameters }), { statement, parameters });
        return database.sql.query(statement, parameters);
      };
      const sql: Sql = {
        query,
        transaction: (run) =>
          database.sql.transaction((tx) =>
            run({
              query: (statement, parameters) => {
                all.set(keyOf({ statement, parameters }), { statement, parameters });
                return tx.query(statement, parameters);
              },
            }),
          ),
      };
      await work(sql);
      return all;
    }

    async function planOf({ statement, parameters }: StatementCall, mode: "force_generic_plan" | "force_custom_plan"): Promise<PlanNode> {
      const values = parameters.length === 0 ? "" : `(${parameters.map(literal).join(", ")})`;
      await client.query(`set jit = off; set plan_cache_mode = ${mode}; deallocate all`);
      await client.query(`prepare looked_at as ${statement.text}`);
      const { rows } = await client.query<{ "QUERY PLAN": readonly [{ readonly Plan: PlanNode }] }>(
        `explain (format json) execute looked_at${values}`,
      );
      const plan = rows[0]?.["QUERY PLAN"][0].Plan;
      if (plan === undefined) throw new Error("explain shows no plan");
      return plan;
    }

    /** Faults in the plans of statements: the statement, the mode and the node. */
    async function faultsOf(
      statements: ReadonlyMap<string, StatementCall>,
      tooWide: ReadonlySet<string> = TOO_WIDE,
    ): Promise<readonly string[]> {
      const { rows } = await client.query<{ name: string }>(
        "select relname as name from pg_class where relkind = 'r' and reltuples >= $1",
        [MANY],
      );
      const large = new Set(rows.map(({ name }) => name));
      const faults: string[] = [];
      for (const [name, one] of statements)
        for (const mode of modesOf(one))
          for (const node of nodesOf(await planOf(one, mode))) {
            const relation = node["Relation Name"] ?? "";
            const reads = node["Node Type"] === "Seq Scan" && large.has(relation);
            if (reads || tooWide.has(node["Index Name"] ?? ""))
              faults.push(`${name}, ${mode}: ${node["Node Type"]} of ${relation} ${node["Index Name"] ?? ""}`);
          }
      return faults;
    }

    const HOT = [
      "client_by_client_id",
      "code_issue",
      "code_by_hash",
      "code_redeem",
      "family_holding",
      "family_rotate",
      "family_revoke",
      "session_by_hash",
      "token_states",
      "grant_open",
      "consents_of",
      "consent_give",
      "consumed_ids_insert",
      "delegation_record",
      "audit_record",
    ];

    /** One call of each store method that a request may use, and 16 at once where calls are coalesced. */
    async function requests(sql: Sql): Promise<void> {
      const scene: Scene = { userId: anId(), sessionId: anId(), sessionHash: aHash(), clientId: "client-1", consentId: anId() };
      const many = <Result>(call: () => Promise<Result>) => Promise.all(Array.from({ length: 16 }, call));
      const codes = authorizationCodes(sql);
      const families = refreshFamilies(sql);
      const delegation = {
        id: anId(),
        kind: "access_token" as const,
        jti: anId(),
        parent: { jti: anId() },
        grantId: anId(),
        userId: scene.userId,
      };
      const more = { actor: "client-1", scopes: [], audience: [], expiresAt: 4_000_000_000 };
      await many(() => clientDirectory(sql).byClientId("client-1"));
      await many(() => codes.issue(aHash(), aBinding(scene), 60, anAudit("code.issued")));
      await many(() => codes.byHash(aHash()));
      await many(() => codes.redeem(aHash(), aGrant(scene), aFamily(), anAudit("token.issued")));
      await many(() => families.holding(aHash()));
      await many(() => families.rotate(anId(), aHash(), { hash: aHash(), ttl: 60 }, anAudit("token.issued")));
      await families.revoke(anId(), anAudit("token.revoked"));
      await many(() => sessions(sql).byHash(aHash()));
      await grants(sql).open(aGrant(scene), aFamily(), scene.sessionId, anAudit("token.issued"));
      await managedClients(sql).byId(anId(), { kind: "all" });
      await managedClients(sql).ofOwner(scene.userId);
      await many(() => consentRepository(sql).of(scene.userId, "client-1", undefined));
      await consents(sql).give(
        {
          id: anId(),
          userId: scene.userId,
          clientId: "client-1",
          clientName: "One",
          scopes: [],
          resources: [],
          sessionId: scene.sessionId,
        },
        anAudit("consent.given"),
      );
      await many(() => consumedIds(sql).consume("client_assertion", "issuer", anId(), 60));
      await many(() => delegations(sql).record({ ...delegation, ...more } as never, anAudit("token.issued")));
      await many(() => auditLog(sql).recordIssue(anAudit("token.issued", { clientId: "client-1" })));
      await many(() => tokenStates(sql).of({ jti: anId(), clientId: "client-1", userId: scene.userId, grantId: anId() }));
    }

    const costOf = async (text: string): Promise<number> =>
      (await planOf({ statement: { name: "", text }, parameters: [] }, "force_custom_plan"))["Total Cost"] ?? 0;

    const filters = {
      event: "token.refused",
      outcome: "failure",
      actorId: ["client-1"],
      userId: "00000000-0010-7000-8000-000000000001",
      clientId: "client-1",
      grantId: "00000000-0010-7000-8000-000000000005",
      jti: "jti-17",
      requestId: "request-17",
      reason: "code_expired",
    } as const;

    /** docs/decisions/0014: what a batch of codes or families locks it locks in its order. */
    async function expectOrder(): Promise<void> {
      const statements = await statementsOf(requests);
      for (const name of ["code_redeem", "family_rotate"])
        for (const mode of ["force_generic_plan", "force_custom_plan"] as const) {
          const nodes = nodesOf(await planOf(statements.get(name) as StatementCall, mode));
          const won = nodes.find((node) => node["Subplan Name"] === "CTE won") as PlanNode;
          expect([name, mode, firstOf(won)["CTE Name"]]).toEqual([name, mode, "input"]);
        }
    }

    test("a consent, planned while there are no sessions, finds its session by the index", async () => {
      const give = (await statementsOf(requests)).get("consent_give") as StatementCall;
      const nodes = nodesOf(await planOf(give, "force_generic_plan")).filter((node) => node["Relation Name"] === "sessions");
      expect(nodes.map((node) => node["Node Type"])).toEqual([expect.stringMatching(/^(?:Index|Bitmap Heap) Scan$/)]);
    });

    describe.for([
      [1, 10_000],
      [10_001, ENOUGH],
    ] as const)("with rows %i to %i in each large table", ([from, to]) => {
      beforeAll(() => fill(url, from, to), 300_000);

      test("every statement of a request uses a selective index", async () => {
        const statements = await statementsOf(requests);
        expect(HOT.filter((name) => !statements.has(name))).toEqual([]);
        expect(await faultsOf(new Map([...statements].filter(([name]) => HOT.includes(name))))).toEqual([]);
      });

      test("codes and families are locked in the order of their batch", expectOrder);

      test("a list of audit records with one filter uses an index and no sequential scan", async () => {
        const lists = await statementsOf(async (sql) => {
          const { list } = auditTrail(sql);
          await list({}, { limit: 50 });
          for (const [member, value] of Object.entries(filters)) {
            const { items } = await list({ [member]: value }, { limit: 50 });
            expect([member, items.length > 0]).toEqual([member, true]);
            await list({ [member]: value }, { limit: 50, cursor: items.at(-1)?.id });
          }
          expect((await list({ since: 3, until: 5 }, { limit: 50 })).items).toHaveLength(50);
        });
        expect(await faultsOf(lists)).toEqual([]);
      });

      if (to === ENOUGH)
        test("no question of a list costs half of reading its table", async () => {
          const costs = new Map<string, number>();
          const dear: string[] = [];
          const calls = await statementsOf(async (sql) => {
            await largestLists(sql);
            await furtherLists(sql);
          });
          for (const call of calls.values()) {
            const [, table = ""] = /from "(\w+)"/.exec(call.statement.text) ?? [];
            const whole = costs.get(table) ?? (await costOf(`select count(*) from ${table}`));
            costs.set(table, whole);
            const cost = (await planOf(call, "force_custom_plan"))["Total Cost"] ?? 0;
            if (cost > whole / 2)
              dear.push(
                `${cost} of ${whole}: ${call.parameters.join(", ")} in ${call.statement.text.slice(call.statement.text.lastIndexOf(" from "))}`,
              );
          }
          expect(dear).toEqual([]);
          expect([...costs.keys()].sort()).toEqual(LISTED);
        });

      if (to === ENOUGH)
        test("lists of refusals, consents and delegations, and groups of these, scan no large table", async () => {
          expect(await faultsOf(await statementsOf(joinedLists), new Set())).toEqual([]);
        });

      if (to === ENOUGH)
        test("what sealing says of the last use of clients and consents scans no large table", async () => {
          const statements = await statementsOf(async (sql) => {
            await auditLog(sql).recordIssue(anAudit("token.issued", { clientId: "client-1" }));
            await auditSealer(sql, undefined, 500).seal();
          });
          const used = [...statements].filter(([name]) => name === "audit_used");
          expect(used).toHaveLength(1);
          expect(await faultsOf(new Map(used), new Set())).toEqual([]);
        });

      test("the sweep scans no large table", async () => {
        const statements = await statementsOf(async (sql) => {
          await sweep(sql);
        });
        const swept = new Map([...statements].filter(([name]) => name.startsWith("sweep_")));
        expect(await faultsOf(swept, new Set())).toEqual([]);
      });
    });
  });
