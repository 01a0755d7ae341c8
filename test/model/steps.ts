import { create } from "@bufbuild/protobuf";
import fc from "fast-check";
import { expect } from "vitest";
import { tokenReference } from "../../src/core/tokens/access-token.ts";
import { IssueCodeRequestSchema } from "../../src/gen/countersign/token/v1/token_pb.ts";
import { aHash, anAudit, anId } from "../support/accounts.ts";
import { CHALLENGE, VERIFIER } from "../support/builders.ts";
import { claimsOf } from "../support/flow.ts";
import { AGENTS, PLACES, REDIRECT, SCOPES, unlessRefused } from "./lane.ts";
import type { GrantModel, Model, Node } from "./model.ts";

/** Something that happens. It records in the model what must have come of it, and compares what did. */
export class Step {
  readonly name: string;
  readonly apply: (model: Model) => Promise<void>;

  constructor(name: string, apply: (model: Model) => Promise<void>) {
    this.name = name;
    this.apply = apply;
  }

  /** How fast-check shows it. */
  toString(): string {
    return this.name;
  }
}

const within = (some: readonly string[], all: Iterable<string>): boolean => some.every((each) => new Set(all).has(each));
const pick = <Item>(items: readonly Item[], index: number): Item | undefined => items[index % Math.max(1, items.length)];
/** Places and agents are drawn by number; the agents are those of the lane. */
const placesOf = (model: Model, drawn: readonly (string | number)[]): readonly string[] =>
  drawn.map((each) => (typeof each === "number" ? (model.lane.agents[each] ?? "") : each));

const everyone = { kind: "everyone" } as const;
const LIFETIMES = { accessToken: 900, code: 60, session: 28_800, refresh: 86_400, family: 864_000 };

const signIn = new Step("sign in", async (model) => {
  const requestId = model.act();
  const id = anId();
  const session = { id, hash: aHash(), userId: model.userId, ttl: LIFETIMES.session };
  const started = await model.lane.sessions.start(session, anAudit("session.started", { requestId }));
  expect(started !== undefined).toBe(model.userEnabled);
  model.mustHaveRecords(requestId, model.userEnabled ? 1 : 0);
  if (started !== undefined) model.session = { id, expiresAt: model.passed + LIFETIMES.session };
});

const placesAsked = (places: readonly string[]): readonly string[] => (places.length === 0 ? [""] : places);

const consent = (scopes: readonly string[], drawn: readonly (string | number)[]) =>
  new Step(`consent to [${scopes}] at [${drawn}]`, async (model) => {
    const [requestId, places] = [model.act(), placesOf(model, drawn)];
    const given = { id: anId(), userId: model.userId, clientId: model.lane.app, clientName: "App", scopes, resources: places };
    await model.lane.consents.give(given, anAudit("consent.given", { requestId }));
    model.mustHaveRecords(requestId, 1);
    const before = model.consent ?? new Map<string, ReadonlySet<string>>();
    const added = placesAsked(places).map((place) => [place, new Set([...(before.get(place) ?? []), ...scopes])] as const);
    model.consent = new Map([...before, ...added]);
  });

const takeConsentBack = new Step("take the consent back", async (model) => {
  const requestId = model.act();
  const [own] = await model.lane.consents.ofUser(model.userId);
  expect(own !== undefined).toBe(model.consent !== undefined);
  if (own === undefined) return;
  expect(await model.lane.consents.revoke(own.id, model.userId, anAudit("consent.revoked", { requestId }))).toBe(true);
  model.mustHaveRecords(requestId, 1);
  model.consent = undefined;
  model.dropCodes();
  model.endGrants(model.grants);
});

const authorize = (scopes: readonly string[], drawn: readonly (string | number)[]) =>
  new Step(`authorize [${scopes}] at [${drawn}]`, async (model) => {
    const [requestId, places, { app, core }] = [model.act(), placesOf(model, drawn), model.lane];
    const good =
      model.sessionLives() &&
      model.userEnabled &&
      model.isEnabled(app) &&
      placesAsked(places).every((place) => within(scopes, model.consent?.get(place) ?? []));
    const request = {
      clientId: app,
      redirectUri: REDIRECT,
      responseType: "code",
      codeChallenge: CHALLENGE,
      codeChallengeMethod: "S256",
      scope: scopes.join(" "),
      resource: [...places],
    };
    const asked = { request, userId: model.userId, sessionId: model.session?.id ?? anId(), authTime: model.lane.clock.now(), requestId };
    const answer = await unlessRefused(core.issueCode(create(IssueCodeRequestSchema, asked), {}));
    expect(answer !== undefined).toBe(good);
    model.mustHaveRecords(requestId, good ? 1 : 0);
    if (answer?.code === undefined) return;
    const bound = places.length > 0 ? places : [app];
    model.codes.push({
      code: answer.code,
      scopes,
      places: bound,
      expiresAt: model.passed + LIFETIMES.code,
      grant: undefined,
      dropped: false,
    });
  });

/** Records in the model a token of a grant's own application, which may be no wider than the grant. */
function received(model: Model, accessToken: string, grant: GrantModel, wished: readonly string[], places: readonly string[]): void {
  const claims = claimsOf(accessToken);
  const granted = { scopes: claims.scope.split(" "), places: [claims.aud].flat(), exp: claims.exp };
  expect(within(granted.scopes, grant.scopes)).toBe(true);
  expect(within(granted.places, grant.places)).toBe(true);
  expect(new Set(granted.scopes)).toEqual(new Set(wished));
  expect(new Set(granted.places)).toEqual(new Set(places));
  expect(granted.exp).toBe(model.lane.clock.now() + LIFETIMES.accessToken);
  expect(claims.act).toBeUndefined();
  const own = { parent: undefined, holder: model.lane.app, actors: [], revoked: false, cut: false };
  model.nodes.push({ token: accessToken, jti: claims.jti, grant, ...own, ...granted });
}

const redeem = (which: number, drawn: readonly (string | number)[]) =>
  new Step(`redeem code ${which} at [${drawn}]`, async (model) => {
    const code = pick(model.codes, which);
    if (code === undefined) return;
    const [requestId, places, { app }] = [model.act(), placesOf(model, drawn), model.lane];
    const known = model.isEnabled(app);
    const replayed = known && !code.dropped && code.grant !== undefined;
    const good = known && !code.dropped && !replayed && code.expiresAt > model.passed && model.userEnabled && within(places, code.places);
    const value = { code: code.code, redirectUri: REDIRECT, codeVerifier: VERIFIER, resource: [...places] };
    const answer = await model.lane.token(app, requestId, { case: "authorizationCode", value });
    expect(answer !== undefined).toBe(good);
    // A replay ends what the code was redeemed for; what ended before is not reported.
    const repeatedEnd = replayed && code.grant?.revoked === true;
    model.mustHaveRecords(requestId, known && !repeatedEnd ? 1 : 0);
    if (replayed && code.grant) model.endGrants([code.grant]);
    if (answer?.accessToken === undefined || answer.refreshToken === undefined) return;
    const { grantId = "" } = tokenReference(claimsOf(answer.accessToken));
    const grant: GrantModel = {
      id: grantId,
      scopes: code.scopes,
      places: code.places,
      refreshTokens: [answer.refreshToken],
      familyRevoked: false,
      revoked: false,
      signedOut: false,
      expiresAt: model.passed + LIFETIMES.refresh,
      endsAt: model.passed + LIFETIMES.family,
    };
    code.grant = grant;
    model.grants.push(grant);
    received(model, answer.accessToken, grant, code.scopes, places.length > 0 ? places : code.places);
  });

const refresh = (which: number, age: number, scopes: readonly string[], drawn: readonly (string | number)[]) =>
  new Step(`refresh grant ${which} with the token ${age} before the last for [${scopes}] at [${drawn}]`, async (model) => {
    const grant = pick(model.grants, which);
    if (grant === undefined) return;
    const [requestId, places, { app }] = [model.act(), placesOf(model, drawn), model.lane];
    const presented = grant.refreshTokens.at(-1 - age) ?? (grant.refreshTokens[0] as string);
    const current = presented === grant.refreshTokens.at(-1);
    const known = model.isEnabled(app);
    const usable = known && !grant.familyRevoked && !grant.revoked && grant.expiresAt > model.passed && model.userEnabled;
    const present = model.present(places.length > 0 ? places : grant.places);
    const good = usable && current && within(scopes, grant.scopes) && within(places, grant.places) && present.length > 0;
    const value = { refreshToken: presented, resource: [...places], ...(scopes.length > 0 && { scope: scopes.join(" ") }) };
    const answer = await model.lane.token(app, requestId, { case: "refreshToken", value });
    expect(answer !== undefined).toBe(good);
    model.mustHaveRecords(requestId, known ? 1 : 0);
    if (usable && !current) model.endGrants([grant]);
    if (answer?.accessToken === undefined || answer.refreshToken === undefined) return;
    grant.refreshTokens.push(answer.refreshToken);
    grant.expiresAt = Math.min(grant.endsAt, model.passed + LIFETIMES.refresh);
    received(model, answer.accessToken, grant, scopes.length > 0 ? scopes : grant.scopes, present);
  });

const exchange = (from: number, by: number, scopes: readonly string[], drawn: readonly (string | number)[]) =>
  new Step(`exchange token ${from} by agent ${by} for [${scopes}] at [${drawn}]`, async (model) => {
    const subject = pick(model.nodes, from);
    if (subject === undefined) return;
    const [requestId, places, agent] = [model.act(), placesOf(model, drawn), model.lane.agents[by] ?? ""];
    const present = model.present(places.length > 0 ? places : subject.places);
    const good =
      model.isEnabled(agent) &&
      present.length > 0 &&
      !model.paused.has(agent) &&
      model.lives(subject) &&
      !subject.grant.signedOut &&
      subject.places.includes(agent) &&
      within(scopes, subject.scopes) &&
      within(places, subject.places) &&
      subject.actors.length < 4;
    const value = {
      subjectToken: subject.token,
      subjectTokenType: "urn:ietf:params:oauth:token-type:access_token",
      resource: [...places],
      ...(scopes.length > 0 && { scope: scopes.join(" ") }),
    };
    const answer = await model.lane.token(agent, requestId, { case: "tokenExchange", value });
    expect(answer !== undefined).toBe(good);
    // A disabled agent is named, and each request comes from an address of its own.
    model.mustHaveRecords(requestId, 1);
    if (answer?.accessToken !== undefined) exchanged(model, answer.accessToken, subject, agent, present);
  });

/** Records an agent's token in the model, which may be wider than its parent in nothing. */
function exchanged(model: Model, accessToken: string, parent: Node, holder: string, places: readonly string[]): void {
  const claims = claimsOf(accessToken);
  const granted = { scopes: claims.scope.split(" "), places: [claims.aud].flat(), exp: claims.exp };
  expect(granted.scopes.filter((scope: string) => !parent.scopes.includes(scope))).toEqual([]);
  expect(granted.places.filter((place: string) => !parent.places.includes(place))).toEqual([]);
  expect(new Set(granted.places)).toEqual(new Set(places));
  expect(granted.exp).toBeLessThanOrEqual(parent.exp);
  const actors = [holder, ...parent.actors];
  expect(actorsIn(claims.act)).toEqual(actors);
  const state = { revoked: false, cut: false };
  model.nodes.push({ token: accessToken, jti: claims.jti, grant: parent.grant, parent, holder, actors, ...granted, ...state });
}

interface Act {
  readonly sub: string;
  readonly act?: Act;
}
const actorsIn = (act: Act | undefined): readonly string[] => (act === undefined ? [] : [act.sub, ...actorsIn(act.act)]);

const revokeToken = (which: number) =>
  new Step(`revoke token ${which}`, async (model) => {
    const node = pick(model.nodes, which);
    if (node === undefined) return;
    const requestId = model.act();
    const effective = model.isEnabled(node.holder) && node.exp > model.lane.clock.now();
    await model.lane.revoke(node.holder, requestId, node.token);
    model.mustHaveRecords(requestId, effective && !node.revoked ? 1 : 0);
    if (effective) node.revoked = true;
  });

const revokeRefreshToken = (which: number) =>
  new Step(`revoke the refresh token of grant ${which}`, async (model) => {
    const grant = pick(model.grants, which);
    if (grant === undefined) return;
    const requestId = model.act();
    await model.lane.revoke(model.lane.app, requestId, grant.refreshTokens.at(-1) ?? "");
    const known = model.isEnabled(model.lane.app);
    model.mustHaveRecords(requestId, known ? 1 : 0);
    if (known) model.endGrants([grant]);
  });

const counts = (node: Node): boolean => !node.cut && !node.revoked;

const cutNode = (which: number) =>
  new Step(`cut token ${which}`, async (model) => {
    const node = pick(model.nodes, which);
    const { delegationId: id } = node === undefined ? {} : tokenReference(claimsOf(node.token));
    if (node === undefined || id === undefined) return;
    const requestId = model.act();
    const ended = await model.lane.cut(everyone, { kind: "delegation", id }, anAudit("delegation.cut", { requestId }));
    expect(ended).toBe(counts(node) ? 1 : 0);
    model.mustHaveRecords(requestId, ended ?? 0);
    node.cut = true;
  });

const cutAgent = (by: number) =>
  new Step(`cut agent ${by}`, async (model) => {
    const [requestId, clientId] = [model.act(), model.lane.agents[by] ?? ""];
    const held = model.nodes.filter(({ holder }) => holder === clientId);
    const whose = { kind: "user", userId: model.userId } as const;
    const ended = await model.lane.cut(whose, { kind: "agent", clientId }, anAudit("delegation.cut", { requestId }));
    expect(ended).toBe(held.filter(counts).length);
    model.mustHaveRecords(requestId, ended ?? 0);
    for (const node of held) node.cut = true;
  });

const cutGrant = (which: number) =>
  new Step(`cut grant ${which}`, async (model) => {
    const grant = pick(model.grants, which);
    if (grant === undefined) return;
    const requestId = model.act();
    const ended = await model.lane.cut(everyone, { kind: "grant", id: grant.id }, anAudit("delegation.cut", { requestId }));
    expect(ended).toBe(grant.revoked ? 0 : 1);
    model.mustHaveRecords(requestId, ended ?? 0);
    model.endGrants([grant]);
  });

const pause = (by: number, paused: boolean) =>
  new Step(`${paused ? "pause" : "resume"} agent ${by}`, async (model) => {
    const [requestId, agent] = [model.act(), model.lane.agents[by] ?? ""];
    const whose = { kind: "user", userId: model.userId } as const;
    const audit = anAudit(paused ? "agent.paused" : "agent.resumed", { requestId });
    const changed = await (paused ? model.lane.pauses.pause(whose, agent, audit) : model.lane.pauses.resume(whose, agent, audit));
    expect(changed).toBe(model.paused.has(agent) !== paused);
    model.mustHaveRecords(requestId, changed ? 1 : 0);
    if (paused) model.paused.add(agent);
    else model.paused.delete(agent);
  });

const enableClient = (which: number, enabled: boolean) =>
  new Step(`${enabled ? "enable" : "disable"} client ${which}`, async (model) => {
    const clientId = [model.lane.app, ...model.lane.agents][which] ?? "";
    await model.lane.world.enable({ client_id: clientId, enabled });
    if (enabled) model.disabled.delete(clientId);
    else model.disabled.add(clientId);
  });

const enableUser = (enabled: boolean) =>
  new Step(`${enabled ? "enable" : "disable"} the user`, async (model) => {
    const requestId = model.act();
    await model.lane.users.setEnabled(model.userId, enabled, anAudit("user.changed", { requestId }));
    model.mustHaveRecords(requestId, 1);
    model.userEnabled = enabled;
    if (enabled) return;
    model.endSignIns();
    model.endGrants(model.grants);
  });

const signOut = new Step("sign out everywhere", async (model) => {
  const requestId = model.act();
  await model.lane.sessions.endAll(model.userId, anAudit("session.ended", { requestId }));
  model.mustHaveRecords(requestId, 1);
  model.endSignIns();
});

const wait = (seconds: number) =>
  new Step(`wait ${seconds} s`, async (model) => {
    model.lane.clock.pass(seconds);
    model.passed += seconds;
    await model.lane.world.age({ user_id: model.userId, secs: seconds });
  });

const which = fc.nat(20);
const agent = fc.constantFrom(...AGENTS);
const scopes = fc.subarray(SCOPES);
const someScopes = fc.subarray([...SCOPES, "d"]);
const somewhere = fc.subarray([...PLACES, ...AGENTS]);
const anywhere = fc.subarray([...PLACES, ...AGENTS, "https://else.example.test/"]);
const everything = [...PLACES, ...AGENTS];

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 10, arbitrary: fc.tuple(which, agent).map(([from, by]) => exchange(from, by, [], [])) },
  { weight: 6, arbitrary: fc.tuple(which, agent, someScopes, anywhere).map((given) => exchange(...given)) },
  { weight: 3, arbitrary: fc.tuple(which, fc.nat(1), someScopes, anywhere).map((given) => refresh(...given)) },
  { weight: 2, arbitrary: which.map((grant) => refresh(grant, 0, [], [])) },
  { weight: 2, arbitrary: fc.tuple(fc.subarray(SCOPES, { minLength: 1 }), somewhere).map((given) => authorize(...given)) },
  { weight: 2, arbitrary: fc.tuple(which, anywhere).map((given) => redeem(...given)) },
  { weight: 2, arbitrary: which.map((code) => redeem(code, [])) },
  { weight: 2, arbitrary: fc.constantFrom(signIn, authorize(SCOPES, everything), consent(SCOPES, everything)) },
  { weight: 1, arbitrary: fc.tuple(scopes, somewhere).map((given) => consent(...given)) },
  { weight: 2, arbitrary: which.map(revokeToken) },
  { weight: 2, arbitrary: which.map(cutNode) },
  { weight: 1, arbitrary: fc.oneof(agent.map(cutAgent), which.map(cutGrant), which.map(revokeRefreshToken)) },
  {
    weight: 2,
    arbitrary: fc.oneof(
      fc.tuple(agent, fc.boolean()).map((given) => pause(...given)),
      fc.tuple(fc.nat(3), fc.boolean()).map((given) => enableClient(...given)),
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom(signOut, takeConsentBack, enableUser(false), enableUser(true)) },
  // Far enough from every lifetime that the seconds which the test itself takes make no difference.
  { weight: 2, arbitrary: fc.constantFrom(100, 400, 800, 90_000).map(wait) },
);

/** What most sequences begin with, so that there is something to lose. */
export const opening = [signIn, consent(SCOPES, everything), authorize(SCOPES, everything), redeem(0, [])];

export const sequence: fc.Arbitrary<readonly Step[]> = fc
  .tuple(fc.integer({ min: 0, max: 9 }), fc.array(step, { minLength: 1, maxLength: 14 }))
  .map(([begun, steps]) => [...(begun < 9 ? opening : []), ...steps]);
