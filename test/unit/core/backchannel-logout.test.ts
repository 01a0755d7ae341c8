import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from "jose";
import { describe, expect, test } from "vitest";
import { incoherences } from "../../../src/clients/coherence.ts";
import { FetchFailure, type OutboundRequest } from "../../../src/clients/guarded-fetch.ts";
import { afterAttempt, type LogoutDelivery, logoutTokenClaims, sendLogouts } from "../../../src/core/logout.ts";
import { logoutOf } from "../../../src/upstream/logout-token.ts";
import { aClient } from "../../support/builders.ts";
import { ISSUER, memoryCore, NOW, type Write } from "../../support/memory-core.ts";

test.for([
  [0, 200, "done"],
  [2, 204, "done"],
  [0, undefined, { again: 5 }],
  [1, 503, { again: 60 }],
  [2, 503, "give_up"],
  [0, 400, "give_up"],
  [0, 302, { again: 5 }],
] as const)("after %i failures a response of %s means %j", ([attempts, status, next]) => {
  expect(afterAttempt(attempts, status)).toEqual(next);
});

test("a logout token names user, session and client, and is short-lived", () => {
  const claims = logoutTokenClaims("https://op.test", { clientId: "c", userId: "u", sessionId: "s" }, { now: 1000, jti: "j" });
  expect(claims).toEqual({
    ...{ iss: "https://op.test", sub: "u", aud: "c", iat: 1000, exp: 1120, jti: "j", sid: "s" },
    events: { "http://schemas.openid.net/event/backchannel-logout": {} },
  });
  expect(logoutOf({ ...claims })).toMatchObject({ jti: "j", subject: "u", sid: "s" });
});

const events = { "http://schemas.openid.net/event/backchannel-logout": {} };
test.for([
  { jti: "j", sub: "u" },
  { jti: "j", sub: "u", events: {} },
  { jti: "j", sub: "u", events, nonce: "n" },
  { jti: "j", events },
  { sub: "u", events },
  { jti: "j", sub: "x".repeat(256), events },
])("%j is no logout", (claims) => {
  expect(() => logoutOf(claims)).toThrow("logout_token_");
});

test.for([
  ["https://app.test/logout?x=1", null, []],
  ["http://localhost:8080/logout", "development", []],
  ["http://localhost:8080/logout", "production", ["backchannelLogoutUri"]],
  ["http://app.test/logout", "development", ["backchannelLogoutUri"]],
  ["https://app.test/logout#f", null, ["backchannelLogoutUri"]],
  ["https://user:pw@app.test/logout", null, ["backchannelLogoutUri"]],
  ["com.app:/logout", null, ["backchannelLogoutUri"]],
] as const)("the logout URI %s of a client in %s has the faults %j", ([backchannelLogoutUri, environment, faults]) => {
  expect(incoherences(aClient({ backchannelLogoutUri, environment })).map(({ path }) => path)).toEqual(faults);
});

describe("sending the notifications that are due", () => {
  const delivery = (members: Partial<LogoutDelivery> = {}): LogoutDelivery => ({
    ...{ id: "d1", clientId: "notes-app", uri: "https://app.test/logout", userId: "u", sessionId: "s", securityProfile: null, attempts: 0 },
    ...members,
  });

  interface Due {
    /** What each claim returns; there is no further one. */
    readonly claims?: readonly (readonly LogoutDelivery[])[];
    /** Of every client's response; left out where none responds. */
    readonly status?: number;
    readonly hasKey?: boolean;
    /** Aborted by the first request. */
    readonly stopping?: AbortController;
  }

  async function send({ claims = [[delivery()]], status, hasKey = true, stopping }: Due) {
    const events: Write[] = [];
    const requests: OutboundRequest[] = [];
    const noted =
      (name: string) =>
      async (...values: unknown[]) =>
        void events.push([name, ...values]);
    const due = [...claims];
    const deliveries = {
      async claim() {
        const next = due.shift();
        if (next === undefined) throw new Error("a claim too many");
        return next;
      },
      done: noted("done"),
      postponed: noted("postponed"),
      unanswered: noted("unanswered"),
    };
    const fetch = {
      async send(request: OutboundRequest) {
        requests.push(request);
        stopping?.abort();
        if (status === undefined) throw new FetchFailure("too_slow");
        return { status, headers: {}, body: new Uint8Array() };
      },
    };
    const { ports } = await memoryCore();
    const keys = hasKey ? ports.keys : { ...ports.keys, current: () => undefined };
    const log = { warn: (event: string, about?: object) => void events.push([event, about]) };
    await sendLogouts({ ...ports, keys, deliveries, fetch, log }, stopping?.signal);
    return { events, requests, unclaimed: due.length, jwks: JSON.parse(ports.keys.jwksJson()) as JSONWebKeySet };
  }

  test("posts a signed logout token in a form, as OpenID Connect Back-Channel Logout 1.0 §2.5 demands", async () => {
    const { events, requests, jwks } = await send({ status: 200 });
    const [{ body = "", ...request } = {}] = requests;
    expect(request).toEqual({
      url: "https://app.test/logout",
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded", accept: "application/json" },
      maxBytes: 65_536,
    });
    const form = new URLSearchParams(String(body));
    expect([...form.keys()]).toEqual(["logout_token"]);
    const { payload } = await jwtVerify(form.get("logout_token") ?? "", createLocalJWKSet(jwks), {
      ...{ typ: "logout+jwt", issuer: ISSUER, audience: "notes-app", currentDate: new Date(NOW * 1_000) },
    });
    expect(payload).toMatchObject({ sub: "u", sid: "s", iat: NOW, jti: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/) });
    expect(events).toEqual([["done", "d1"]]);
  });

  test("claims no more once the process stops, however many are due", async () => {
    const batch = Array.from({ length: 8 }, (_, n) => delivery({ id: `d${n}` }));
    const { requests, unclaimed } = await send({ status: 200, claims: [batch, batch], stopping: new AbortController() });
    expect([requests.length, unclaimed]).toEqual([8, 1]);
  });

  const about = { clientId: "notes-app" };
  test.for<readonly [status: number | undefined, attempts: number, events: readonly Write[]]>([
    [204, 1, [["done", "d1"]]],
    [
      503,
      0,
      [
        ["logout_postponed", { ...about, attempt: 1, status: 503 }],
        ["postponed", "d1", 5],
      ],
    ],
    [
      undefined,
      1,
      [
        ["unanswered", "notes-app", 60],
        ["logout_postponed", { ...about, attempt: 2, reason: "too_slow" }],
        ["postponed", "d1", 60],
      ],
    ],
    [
      undefined,
      2,
      [
        ["unanswered", "notes-app", 60],
        ["logout_abandoned", { ...about, attempt: 3, reason: "too_slow" }],
        ["done", "d1"],
      ],
    ],
    [
      400,
      0,
      [
        ["logout_abandoned", { ...about, attempt: 1, status: 400 }],
        ["done", "d1"],
      ],
    ],
  ])("with a response of %s after %i failed attempts does %j", async ([status, attempts, expected]) => {
    const { events } = await send({ claims: [[delivery({ attempts })]], ...(status !== undefined && { status }) });
    expect(events).toEqual(expected);
  });

  test("gives up what has failed three times with others of its client, without a further request", async () => {
    const { events, requests } = await send({ claims: [[delivery({ attempts: 3 })]], status: 200 });
    expect(requests).toEqual([]);
    expect(events).toEqual([
      ["logout_abandoned", { ...about, attempt: 3 }],
      ["done", "d1"],
    ]);
  });

  test("sends nothing to a client that no longer asks for it", async () => {
    const { events, requests } = await send({ claims: [[delivery({ uri: null })]], status: 200 });
    expect([events, requests]).toEqual([[["done", "d1"]], []]);
  });

  test("claims more after eight, and stops after fewer", async () => {
    const eight = Array.from({ length: 8 }, (_, n) => delivery({ id: `d${n}` }));
    const { events, unclaimed } = await send({ claims: [eight, eight, [delivery({ id: "last" })], []], status: 200 });
    expect([events.length, events.at(-1), unclaimed]).toEqual([17, ["done", "last"], 1]);
  });

  test("claims nothing while no key may sign", async () => {
    expect(await send({ status: 200, hasKey: false })).toMatchObject({ events: [], requests: [], unclaimed: 1 });
  });
});
