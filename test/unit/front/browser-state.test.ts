import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { cookiesOf, csrfToken, FORM_TOKEN, isCrossSite } from "../../../src/front/http/cookies.ts";
import type { FrontContext } from "../../../src/front/http/routes.ts";
import { parseForm } from "../../../src/protocol/form.ts";
import { newSecret } from "../../../src/random.ts";

const ISSUER = "https://id.example.test";
const secret = newSecret(randomBytes);
const other = newSecret(randomBytes);

function contextWith(headers: Record<string, string>) {
  const set: string[] = [];
  const ctx = { req: { headers }, append: (_name: string, value: string) => void set.push(value) };
  return { ctx: ctx as unknown as FrontContext, set };
}

describe("cookies", () => {
  const cookies = cookiesOf(ISSUER, randomBytes);

  test("are host-only, HttpOnly, SameSite=Lax and Secure over https", () => {
    const { ctx, set } = contextWith({});
    cookies.startSession(ctx, secret, 60);
    cookies.endSession(ctx);
    cookies.startVisitor(ctx, secret);
    expect(set).toEqual([
      `__Host-countersign=${secret}; Path=/; HttpOnly; SameSite=Lax; Max-Age=60; Secure`,
      "__Host-countersign=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0; Secure",
      `__Host-countersign-visitor=${secret}; Path=/; HttpOnly; SameSite=Lax; Max-Age=86400; Secure`,
    ]);
  });

  test("have neither prefix nor Secure on a plain-http loopback host", () => {
    const { ctx, set } = contextWith({});
    cookiesOf("http://localhost:3000", randomBytes).startSession(ctx, secret, 60);
    expect(set).toEqual([`countersign=${secret}; Path=/; HttpOnly; SameSite=Lax; Max-Age=60`]);
  });

  test.for([
    ["one", `__Host-countersign=${secret}`, secret],
    ["one among others", `a=b; __Host-countersign=${secret}; c=d`, secret],
    ["two cookies of the name", `__Host-countersign=${secret}; __Host-countersign=${other}`, undefined],
    ["one without the prefix", `countersign=${secret}`, undefined],
    ["one after a tab", `a=b;\t__Host-countersign=${secret}`, secret],
    ["one beside another with a no-break space before its name", `\u00a0__Host-countersign=${other}; __Host-countersign=${secret}`, secret],
    ["one whose name begins with a no-break space", `\u00a0__Host-countersign=${secret}`, undefined],
    ["a value that is not a secret", "__Host-countersign=x", undefined],
    ["none", "", undefined],
  ] as const)("a session is read from %s", ([, cookie, expected]) => {
    expect(cookies.session(contextWith({ cookie }).ctx)).toBe(expected);
  });

  test.for([
    ["a form", "__Host-countersign-pending=email=a%40b.test&next=%2Faccount", "a@b.test"],
    ["an empty value", "__Host-countersign-pending=", undefined],
    ["a repeated member", "__Host-countersign-pending=email=a&email=b", undefined],
    ["two cookies", "__Host-countersign-pending=email=a; __Host-countersign-pending=email=b", undefined],
  ] as const)("a pending action is read from %s", ([, cookie, expected]) => {
    expect(cookies.pendingAction(contextWith({ cookie }).ctx)?.get("email")).toBe(expected);
  });

  test.for([
    ["none", "", 2],
    ["one", `__Host-countersign-visitor=${secret}`, 1],
    ["two, one of which another host has planted", `__Host-countersign-visitor=${secret}; __Host-countersign-visitor=${other}`, 1],
    ["that of its device", `__Host-countersign-device=${secret}`, 1],
  ] as const)("a browser with visitor cookies: %s, is given its secrets once", ([, cookie, given]) => {
    const { ctx, set } = contextWith({ cookie });
    cookies.browser(ctx);
    expect(set).toHaveLength(given);
  });

  const nameless = "__Host-countersign-visitor-".padEnd(43, "x"); // of the form of a secret
  test.for([
    ["the browser's secret", `__Host-countersign-visitor=${secret}`, secret, true],
    ["one that it keeps by its mark", `__Host-countersign-visitor=${other}; __Host-countersign-visitor-mark=${secret}`, secret, true],
    ["another browser's", `__Host-countersign-visitor=${other}`, secret, false],
    ["a marked one without the prefix", `countersign-visitor-mark=${secret}`, secret, false],
    ["a marked one after a no-break space", `\u00a0__Host-countersign-visitor-mark=${secret}`, secret, false],
    ["a cookie without a name", nameless, nameless, false],
  ] as const)("whether a form counts by %s", ([, cookie, key, counts]) => {
    expect(cookies.isToken(contextWith({ cookie }).ctx, csrfToken(key, "login"), "login")).toBe(counts);
  });

  test("the cookie of a pending action is deleted only where it is present", () => {
    const [absent, present] = [contextWith({}), contextWith({ cookie: "__Host-countersign-pending=email=a" })];
    cookies.endPendingAction(absent.ctx);
    cookies.endPendingAction(present.ctx);
    expect([absent.set, present.set.length]).toEqual([[], 1]);
  });
});

describe("CSRF protection of forms", () => {
  const cookies = cookiesOf(ISSUER, randomBytes);
  const origin = { origin: ISSUER };
  const session = `__Host-countersign=${secret}`;
  const visitor = `__Host-countersign-visitor=${other}`;
  const assert = (headers: Record<string, string>, token: string | undefined, purpose = "account") =>
    cookies.assertForm(contextWith(headers).ctx, parseForm(token === undefined ? "" : `${FORM_TOKEN}=${token}`), purpose);

  test("accepts a token of the session, the visitor or the device", () => {
    const device = "d".repeat(43);
    const cookie = `${session}; ${visitor}; __Host-countersign-device=${device}`;
    for (const key of [secret, other, device]) expect(() => assert({ ...origin, cookie }, csrfToken(key, "account"))).not.toThrow();
  });

  test.for([
    ["no token", { ...origin, cookie: session }, undefined, "form_token"],
    ["the token of another purpose", { ...origin, cookie: session }, csrfToken(secret, "consent"), "form_token"],
    ["the token of another browser", { ...origin, cookie: session }, csrfToken(other, "account"), "form_token"],
    ["a token without a cookie", origin, csrfToken(secret, "account"), "form_token"],
    ["another origin", { origin: "https://evil.test", cookie: session }, csrfToken(secret, "account"), "cross_site_form"],
  ] as const)("refuses %s", ([, headers, token, reason]) => {
    expect(() => assert(headers, token)).toThrow(expect.objectContaining({ code: "forbidden", reason }));
  });

  test.for([
    [{ origin: ISSUER }, false],
    [{ origin: ISSUER, "sec-fetch-site": "cross-site" }, false],
    [{ origin: "https://evil.test", "sec-fetch-site": "same-origin" }, true],
    [{ origin: "null", "sec-fetch-site": "same-origin" }, false],
    [{ origin: "null", "sec-fetch-site": "same-site" }, true],
    [{ origin: "null" }, true],
    [{ "sec-fetch-site": "none" }, true],
    [{}, false],
  ] as const)("a form with %j is cross-site: %s", ([headers, expected]) => {
    expect(isCrossSite(contextWith({ ...headers }).ctx, ISSUER)).toBe(expected);
  });
});
