import { randomBytes } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { endsOf, knownMarks } from "../../guard-sdk/src/revocation-marks.ts";
import { systemClock } from "../../src/clock.ts";
import { revocationDigest } from "../../src/core/revocation-digest.ts";
import { signJwt } from "../../src/core/signing/jws.ts";
import { createSigner } from "../../src/core/signing/signer.ts";
import { accessTokenClaims, newJti, tokenReference } from "../../src/core/tokens/access-token.ts";
import { isRefusal } from "../../src/errors.ts";
import { IntrospectRequestSchema, RevokeRequestSchema, TokenRequestSchema } from "../../src/gen/countersign/token/v1/token_pb.ts";
import { hashSecret } from "../../src/secret.ts";
import { agentPauses } from "../../src/store/agent-pauses.ts";
import { delegationBook } from "../../src/store/delegation-book.ts";
import type { Database } from "../../src/store/orm.ts";
import { revocationMarks } from "../../src/store/revocation-marks.ts";
import { sessions } from "../../src/store/sessions.ts";
import { statement } from "../../src/store/sql.ts";
import { anAudit, anId, aUser } from "../support/accounts.ts";
import { aClock } from "../support/clock.ts";
import { coreOver, ISSUER } from "../support/core.ts";
import { freshEmbedded } from "../support/database.ts";
import { claimsOf } from "../support/flow.ts";
import { aClient } from "../support/grants.ts";

/** Sequences; CI asks for more than a developer's run. */
const RUNS = Number(process.env.MODEL_RUNS ?? 40);
const SCOPES = ["a", "b", "c"];
const PLACES = ["https://one.example.test/", "https://two.example.test/"];
const AGENTS = ["m-agent-0", "m-agent-1", "m-agent-2"];

let database: Database;
let world: Awaited<ReturnType<typeof coreOver>>;
const clock = aClock(systemClock());
const signer = createSigner();
const members = { tokenEndpointAuthMethod: "client_secret_basic", secretHash: hashSecret("s") } as const;

beforeAll(async () => {
  database = await freshEmbedded();
  world = await coreOver(database.sql, clock.now);
  const grantTypes = ["client_credentials", "urn:ietf:params:oauth:grant-type:token-exchange"] as const;
  for (const clientId of AGENTS) await aClient(database.sql, { ...members, clientId, grantTypes: [...grantTypes], isAgent: true });
  await aClient(database.sql, { ...members, clientId: "m-app" });
  await aClient(database.sql, { ...members, clientId: "m-rs", audience: [...PLACES, ...AGENTS] });
});
afterAll(() => database.close());

const run = (name: string, text: string, ...parameters: string[]) => database.sql.query<{ n: number }>(statement(name, text), parameters);
const records = async () => (await run("m_records", "select count(*)::int as n from audit_records"))[0]?.n ?? 0;
/** From an address of its own each time: attempts of a disabled agent are no guesses to be slowed down. */
const credential = (clientId: string) => ({ basic: { clientId, clientSecret: "s" }, address: anId() });

/** A token as the model knows it. */
interface Node {
  readonly token: string;
  readonly parent: Node | undefined;
  readonly holder: string;
  readonly scopes: readonly string[];
  readonly places: readonly string[];
  readonly exp: number;
  readonly depth: number;
  ended: boolean;
}

/** One person, the grant that they gave the application, and all that came of it. */
class Model {
  readonly userId: string;
  readonly grantId: string;
  readonly nodes: Node[] = [];
  readonly disabled = new Set<string>();
  /** Agents that an operator paused for everybody, and that the person paused for herself. */
  readonly paused = { everybody: new Set<string>(), person: new Set<string>() };
  userEnabled = true;
  grantLives = true;
  signedOut = false;

  constructor(userId: string, grantId: string) {
    this.userId = userId;
    this.grantId = grantId;
  }

  lives(node: Node | undefined): boolean {
    if (node === undefined) return this.userEnabled && this.grantLives;
    return this.stands(node) && node.exp > clock.now() && this.lives(node.parent);
  }

  /** Whether nothing about this token itself has ended it before its time. */
  stands(node: Node): boolean {
    return !node.ended && !this.disabled.has(node.holder) && !(node.parent !== undefined && this.isPaused(node.holder));
  }

  /** The same of all that it came of: what a guard that verifies by itself can know. */
  standsWhole(node: Node | undefined): boolean {
    return node === undefined ? this.userEnabled && this.grantLives : this.stands(node) && this.standsWhole(node.parent);
  }

  isPaused = (agent: string): boolean => this.paused.everybody.has(agent) || this.paused.person.has(agent);

  at = (index: number): Node => this.nodes[index % this.nodes.length] as Node;
}

async function begin(): Promise<Model> {
  await run("m_enable", "update clients set enabled = true where client_id like 'm-%'");
  await run("m_resume", "delete from agent_pauses");
  const user = await aUser(database.sql);
  const grantId = anId();
  await run(
    "m_grant",
    `insert into grants (id, client_id, user_id, scopes, audience, auth_time) values ($1::uuid, 'm-app', $2::uuid, '{a,b,c}', '{}', now())`,
    grantId,
    user.id,
  );
  const model = new Model(user.id, grantId);
  const lifetime = 900;
  const audience = [...PLACES, ...AGENTS];
  const claims = accessTokenClaims({
    issuer: ISSUER,
    subject: user.id,
    audience,
    clientId: "m-app",
    scopes: SCOPES,
    jti: newJti(randomBytes, grantId),
    now: clock.now(),
    lifetime,
  });
  const token = await signJwt(claims, "at+jwt", world.key, signer);
  model.nodes.push({
    token,
    parent: undefined,
    holder: "m-app",
    scopes: SCOPES,
    places: audience,
    exp: claims.exp,
    depth: 0,
    ended: false,
  });
  return model;
}

type Step = { readonly name: string; readonly apply: (model: Model) => Promise<void> };

const exchange = (from: number, agent: string, scopes: readonly string[], places: readonly string[]): Step => ({
  name: `exchange ${from} by ${agent} for [${scopes}] at [${places}]`,
  async apply(model) {
    const subject = model.at(from);
    const good =
      !model.disabled.has(agent) &&
      !model.isPaused(agent) &&
      model.lives(subject) &&
      !model.signedOut &&
      subject.places.includes(agent) &&
      scopes.every((scope) => subject.scopes.includes(scope)) &&
      places.every((place) => subject.places.includes(place)) &&
      subject.depth < 4;
    const before = await records();
    const answer = await world.core
      .token(
        create(TokenRequestSchema, {
          client: credential(agent),
          requestId: "r",
          grant: {
            case: "tokenExchange",
            value: {
              subjectToken: subject.token,
              subjectTokenType: "urn:ietf:params:oauth:token-type:access_token",
              ...(scopes.length > 0 && { scope: scopes.join(" ") }),
              resource: [...places],
            },
          },
        }),
        {},
      )
      .catch((error: unknown) => {
        if (!isRefusal(error)) throw error;
        return undefined;
      });
    expect(answer !== undefined).toBe(good);
    // Who is not known to be the agent has not begun an exchange.
    expect((await records()) - before).toBe(model.disabled.has(agent) ? 0 : 1);
    if (answer?.accessToken === undefined) return;
    const claims = claimsOf(answer.accessToken);
    const granted = { scopes: claims.scope.split(" "), places: [claims.aud].flat(), exp: claims.exp };
    expect(granted.scopes.filter((scope: string) => !subject.scopes.includes(scope))).toEqual([]);
    expect(granted.places.filter((place: string) => !subject.places.includes(place))).toEqual([]);
    expect(granted.exp).toBeLessThanOrEqual(subject.exp);
    model.nodes.push({ token: answer.accessToken, parent: subject, holder: agent, depth: subject.depth + 1, ended: false, ...granted });
  },
});

const revoke = (which: number): Step => ({
  name: `revoke ${which}`,
  async apply(model) {
    const node = model.at(which);
    const before = await records();
    const effective = !model.disabled.has(node.holder) && node.exp > clock.now();
    await world.core
      .revoke(create(RevokeRequestSchema, { client: credential(node.holder), token: node.token, requestId: "r" }), {})
      .catch((error: unknown) => {
        if (!isRefusal(error)) throw error;
      });
    expect((await records()) - before).toBeLessThanOrEqual(1);
    if (effective) node.ended = true;
  },
});

const cut = (which: number): Step => ({
  name: `cut ${which}`,
  async apply(model) {
    const node = model.at(which);
    const { delegationId } = tokenReference(claimsOf(node.token));
    if (delegationId === undefined) return;
    const before = await records();
    const ended = await delegationBook(database.sql).cut(
      { kind: "everybody" },
      { kind: "delegation", id: delegationId },
      anAudit("delegation.cut"),
    );
    expect((await records()) - before).toBe(ended);
    node.ended = true;
  },
});

const cutAgent = (agent: string): Step => ({
  name: `cut ${agent}`,
  async apply(model) {
    const before = await records();
    const what = { kind: "agent", clientId: agent, userId: model.userId } as const;
    const ended = await delegationBook(database.sql).cut({ kind: "everybody" }, what, anAudit("delegation.cut"));
    expect((await records()) - before).toBe(ended);
    for (const node of model.nodes) if (node.holder === agent) node.ended = true;
  },
});

const pause = ([agent, paused, kind]: readonly [string, boolean, "everybody" | "person"]): Step => ({
  name: `${paused ? "pause" : "resume"} ${agent} for ${kind}`,
  async apply(model) {
    const before = await records();
    const whose = kind === "person" ? ({ kind, userId: model.userId } as const) : ({ kind } as const);
    const changed = await (paused
      ? agentPauses(database.sql).pause(whose, agent, anAudit("agent.paused"))
      : agentPauses(database.sql).resume(whose, agent, anAudit("agent.resumed")));
    expect(changed).toBe(model.paused[kind].has(agent) !== paused);
    expect((await records()) - before).toBe(changed === true ? 1 : 0);
    if (paused) model.paused[kind].add(agent);
    else model.paused[kind].delete(agent);
  },
});

const plain = (name: string, apply: (model: Model) => Promise<void>): Step => ({ name, apply });
const steps = fc.oneof(
  {
    weight: 10,
    arbitrary: fc
      .tuple(
        fc.nat(20),
        fc.constantFrom(...AGENTS),
        fc.subarray([...SCOPES, "d"]),
        fc.subarray([...PLACES, ...AGENTS, "https://else.example.test/"]),
      )
      .map((given) => exchange(...given)),
  },
  { weight: 8, arbitrary: fc.tuple(fc.nat(20), fc.constantFrom(...AGENTS)).map(([from, agent]) => exchange(from, agent, [], [])) },
  { weight: 2, arbitrary: fc.nat(20).map(revoke) },
  { weight: 2, arbitrary: fc.nat(20).map(cut) },
  { weight: 1, arbitrary: fc.constantFrom(...AGENTS).map(cutAgent) },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.constantFrom(...AGENTS, "m-app"), fc.boolean()).map(([agent, enabled]) =>
      plain(`${enabled ? "enable" : "disable"} ${agent}`, async (model) => {
        await run(`m_agent_${enabled}`, `update clients set enabled = ${enabled} where client_id = $1`, agent);
        if (enabled) model.disabled.delete(agent);
        else model.disabled.add(agent);
      }),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.constantFrom(...AGENTS), fc.boolean(), fc.constantFrom("everybody" as const, "person" as const)).map(pause),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      plain("sign out", async (model) => {
        await sessions(database.sql).endAll(model.userId, anAudit("session.ended"));
        model.signedOut = true;
      }),
      plain("revoke the grant", async (model) => {
        await world.ports.grants.revoke(model.grantId, anAudit("token.revoked"));
        model.grantLives = false;
      }),
      plain("disable the person", async (model) => {
        await run("m_user", "update users set enabled = false where id = $1::uuid", model.userId);
        model.userEnabled = false;
      }),
    ),
  },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 600 }).map((seconds) => plain(`wait ${seconds} s`, async () => clock.pass(seconds))) },
);

async function assertStates(model: Model): Promise<void> {
  const tokens = model.nodes.map(({ token }) => token);
  const { results } = await world.core.introspect(create(IntrospectRequestSchema, { client: credential("m-rs"), tokens }), {});
  expect(results?.map(({ active }) => active)).toEqual(model.nodes.map((node) => model.lives(node)));
}

/** What a guard that is told of revocations makes of the tokens: the same as the server does, but for their expiry, which it reads by itself. */
const told = knownMarks();
let cursor: string | undefined;

async function assertMarks(model: Model): Promise<void> {
  const page = await revocationMarks(database.sql).since(cursor);
  const marks = page.marks.map((mark) => ({ ...mark, digest: revocationDigest(mark), sequence: BigInt(mark.sequence) }));
  told.take({ marks, cursor: page.cursor, reset: page.whole }, 0);
  cursor = page.cursor;
  for (const node of model.nodes) {
    const ends = await endsOf(claimsOf(node.token));
    expect([node.token, ends !== undefined && !told.anyEnded(ends)]).toEqual([node.token, model.standsWhole(node)]);
  }
}

test("whatever happens, no token is wider than its parent, none lives under what has ended, marks say the same, and every effect has one record", {
  timeout: 60_000 + RUNS * 2_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { minLength: 1, maxLength: 14 }), async (sequence) => {
      const model = await begin();
      for (const step of sequence) {
        await step.apply(model);
        await assertStates(model);
        await assertMarks(model);
      }
    }),
    { numRuns: RUNS },
  );
});
