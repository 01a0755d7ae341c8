import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { afterAll, describe, expect, test } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { Refusal } from "../../src/errors.ts";
import type { UserPorts } from "../../src/front/user-ports.ts";
import { userRoutes } from "../../src/front/user-routes.ts";
import { remoteTokenCore } from "../../src/grpc/core-client.ts";
import type { TokenCoreImplementation } from "../../src/grpc/local.ts";
import { OPEN_SIGN_UP } from "../support/accounts.ts";
import { aBrandings } from "../support/builders.ts";
import { coreWith } from "../support/fake-core.ts";
import { ISSUER, startFront, type TestFront } from "../support/front.ts";
import { authorizePath } from "../support/pages-server.ts";
import { A_SECRET_BOX } from "../support/secret-box.ts";

const unreachable = async (): Promise<never> => {
  throw new Refusal("temporarily_unavailable", "unreachable", { retryAfter: 5 });
};
const good: TokenCoreImplementation["validateAuthorization"] = async () => ({ outcome: { case: "authorization", value: {} } });
const user = { id: "u", email: "ada@example.test", emailVerified: true, realmId: "r", firstName: null, lastName: null } as const;
const session = { id: "s", userId: "u", authTime: 1, expiresAt: 9e9 };
const signedIn = { session, user: { ...user, role: "developer", enabled: true, createdAt: 1, updatedAt: null } } as const;
const cookie = `countersign=${"A".repeat(43)}`;

const fronts: TestFront[] = [];
afterAll(() => Promise.all(fronts.map((front) => front.close())));

/** A front in which only the given parts work; all others are unreachable. */
async function front(core: Partial<TokenCoreImplementation>, ports: Partial<UserPorts> = {}) {
  const down = new Proxy({}, { get: () => unreachable });
  const rest = {
    users: down,
    sessions: down,
    consents: down,
    pendingRequests: down,
    attempts: down,
    passwords: down,
    realms: down,
    passwordChanges: down,
    connections: down,
    identityLinks: down,
    knownDevices: down,
  };
  const mails = { mailbox: down, address: down, device: down };
  const limits = { signUpPolicy: OPEN_SIGN_UP, signUps: down, pendingRate: down, resendLimits: mails, forgottenLimits: mails };
  const known = {
    issuer: ISSUER,
    core: coreWith(core),
    clock: systemClock,
    randomBytes,
    sessionTtl: 60,
    fault: () => undefined,
    brandings: aBrandings(),
    box: A_SECRET_BOX,
  };
  const running = await startFront({ routes: userRoutes({ ...rest, ...limits, ...known, ...ports } as unknown as UserPorts) });
  fronts.push(running);
  return running;
}

const ask = (url: string, headers: Record<string, string> = {}) => fetch(url, { redirect: "manual", headers });
const HTML = { accept: "text/html,*/*;q=0.8" };

describe("security §3: while core or storage is down", () => {
  test("authorize returns 503 without a Location, as a page for a browser and as JSON otherwise", async () => {
    for (const { url } of [await front({ validateAuthorization: unreachable }), await front({ validateAuthorization: good })]) {
      const page = await ask(url + authorizePath(), HTML);
      expect([page.status, page.headers.get("location"), page.headers.get("retry-after")]).toEqual([503, null, "5"]);
      expect(page.headers.get("content-type")).toContain("text/html");
      const json = await ask(url + authorizePath());
      expect([json.status, await json.json()]).toEqual([503, { error: "temporarily_unavailable" }]);
    }
  });

  test("authorize returns 503 within 5 s if the core does not respond", async () => {
    const silent = createServer().listen(0, "127.0.0.1");
    await once(silent, "listening");
    const core = remoteTokenCore({ url: `http://127.0.0.1:${(silent.address() as AddressInfo).port}`, secret: undefined });
    const { url } = await front({}, { core });
    const begun = performance.now();
    const response = await ask(url + authorizePath());
    expect([response.status, await response.json()]).toEqual([503, { error: "temporarily_unavailable" }]);
    expect(performance.now() - begun).toBeLessThan(5_000);
    await core.close();
    silent.close();
  });

  test("too many pending requests of one address return 429 with Retry-After, never a redirect", async () => {
    const { url } = await front({ validateAuthorization: good }, { pendingRate: { hit: async () => 7 } });
    for (const [headers, type] of [
      [HTML, "text/html; charset=utf-8"],
      [{}, "application/json"],
    ] as const) {
      const { status, headers: got } = await ask(url + authorizePath(), headers);
      expect([status, got.get("location"), got.get("retry-after"), got.get("content-type")]).toEqual([429, null, "7", type]);
    }
  });

  test("pages return 503 and keep the cookie if the session cannot be read", async () => {
    const { url } = await front({ validateAuthorization: good });
    for (const path of ["/login", "/account", "/logout", "/consents/", authorizePath()]) {
      const response = await ask(url + path, { ...HTML, cookie });
      expect([path, response.status, response.headers.get("location")]).toEqual([path, 503, null]);
      expect(response.headers.getSetCookie()).toEqual([]);
    }
  });

  test("a failure after client and redirect URI were validated is returned to the client by redirect", async () => {
    const sessions = { byHash: async () => signedIn } as unknown as UserPorts["sessions"];
    const { url } = await front({ validateAuthorization: good, issueCode: unreachable }, { sessions });
    const response = await ask(url + authorizePath(), { cookie });
    expect(response.status).toBe(302);
    const iss = encodeURIComponent(ISSUER);
    expect(response.headers.get("location")).toBe(`https://app.example.test/cb?error=temporarily_unavailable&state=st%261&iss=${iss}`);
  });

  test("a user who was asked signs out, and stays here if the core cannot say where the application wants the browser", async () => {
    const ended: string[] = [];
    const sessions = {
      byHash: async () => signedIn,
      endOne: async (id: string) => void ended.push(id),
    } as unknown as UserPorts["sessions"];
    const { url } = await front({ validateLogout: unreachable }, { sessions });
    const page = await ask(`${url}/logout`, { ...HTML, cookie });
    const form_token = /name="form_token" value="([^"]+)"/.exec(await page.text())?.[1] ?? "";
    const cookies = [cookie, ...page.headers.getSetCookie().map((each) => each.split(";")[0])].join("; ");
    const body = new URLSearchParams({ form_token, id_token_hint: "a.b.c", post_logout_redirect_uri: "https://app.example.test/bye" });
    const left = await fetch(`${url}/logout`, { method: "POST", redirect: "manual", headers: { cookie: cookies, origin: ISSUER }, body });
    expect([left.status, left.headers.get("location"), ended]).toEqual([303, "/logout", ["s"]]);
  });

  test("sign-in and sign-up return 503 without computing a hash", async () => {
    let hashes = 0;
    const passwords: UserPorts["passwords"] = {
      hash: async () => String(++hashes),
      verify: async () => {
        hashes += 1;
        return { kind: "wrong" };
      },
    };
    const { url } = await front({}, { passwords });
    const post = (path: string, body: object) =>
      fetch(url + path, { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } });
    const email = "ada@example.test";
    for (const path of ["/auth/login", "/auth/register"]) {
      const response = await post(path, { email, password: "correct horse battery" });
      expect([path, response.status, response.headers.get("retry-after")]).toEqual([path, 503, "5"]);
      expect(await response.json()).toMatchObject({ statusCode: 503, error: "Service Unavailable" });
    }
    expect((await post("/auth/resend-verification", { email })).status).toBe(503);
    expect((await ask(`${url}/auth/verify?token=${"a".repeat(64)}`)).status).toBe(503);
    expect(hashes).toBe(0);
  });
});
