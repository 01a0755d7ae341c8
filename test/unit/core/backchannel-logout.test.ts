import { expect, test } from "vitest";
import { incoherences } from "../../../src/clients/coherence.ts";
import { afterAttempt, logoutTokenClaims } from "../../../src/core/backchannel-logout.ts";
import { logoutOf } from "../../../src/upstream/logout-token.ts";
import { aClient } from "../../support/builders.ts";

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
