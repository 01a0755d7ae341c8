import { randomBytes } from "node:crypto";
import { afterAll, describe, expect, test } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { Refusal } from "../../src/errors.ts";
import { API_PURPOSE, csrfToken } from "../../src/front/http/cookies.ts";
import { walletPageRoutes } from "../../src/front/pages/wallet/page.ts";
import type { UserPorts } from "../../src/front/user-ports.ts";
import { userRoutes } from "../../src/front/user-routes.ts";
import { walletHandlers } from "../../src/front/wallet/handlers.ts";
import { walletRoutes } from "../../src/front/wallet/routes.ts";
import type { LinkingPorts } from "../../src/wallet/linking.ts";
import { aBrandings } from "../support/builders.ts";
import { coreWith } from "../support/fake-core.ts";
import { ISSUER, postForm, startFront, type TestFront } from "../support/front.ts";

const unreachable = async (): Promise<never> => {
  throw new Refusal("temporarily_unavailable", "unreachable", { retryAfter: 5 });
};
const down = new Proxy({}, { get: () => unreachable });
const secret = "A".repeat(43);
const headers = { cookie: `countersign=${secret}`, "x-csrf-token": csrfToken(secret, API_PURPOSE) };
const user = { id: "u", email: "ada@example.test", emailVerified: true, realmId: "r", firstName: null, lastName: null };
const session = { id: "s", userId: "u", authTime: 1, expiresAt: 9e9 };
const signedIn = { session, user: { ...user, role: "developer", enabled: true, createdAt: 1, updatedAt: null } };

const fronts: TestFront[] = [];
afterAll(() => Promise.all(fronts.map((front) => front.close())));

/** A front whose storage is unreachable except for the given parts. */
async function front(sessions: object, links: object = down): Promise<TestFront> {
  const free = { hit: async () => 0 };
  const limits = { user: free, address: free };
  const linking = {
    limits,
    links,
    wallets: down,
    requests: down,
    verify: unreachable,
    clock: systemClock,
    randomBytes,
  } as unknown as LinkingPorts;
  const ports = { users: down, consents: down, pendingRequests: down, attempts: down, passwords: down, realms: down, limits: {} };
  const known = {
    issuer: ISSUER,
    core: coreWith({}),
    clock: systemClock,
    randomBytes,
    sessionTtl: 60,
    fault: () => undefined,
    sessions,
    brandings: aBrandings(),
  };
  const routes = userRoutes({
    ...({ ...ports, ...known } as unknown as UserPorts), // these tests use no other ports
    wallets: (kit) => [...walletRoutes(ISSUER, walletHandlers({ ...kit, linking })), ...walletPageRoutes({ ...kit, linking })],
  });
  const running = await startFront({ routes });
  fronts.push(running);
  return running;
}

const answerOf = async (response: Response) => [response.status, response.headers.get("retry-after"), await response.json()];
const UNAVAILABLE = [500, "5", { message: expect.any(String) }];

describe("security §3: while storage is down, wallet paths return 500 with only a message and Retry-After", () => {
  test("if the session cannot be read", async () => {
    const { url } = await front(down);
    expect(await answerOf(await fetch(`${url}/auth/link/wallet`, { method: "POST", headers }))).toEqual(UNAVAILABLE);
    expect(await answerOf(await fetch(`${url}/auth/link/wallet/handle`, { headers }))).toEqual(UNAVAILABLE);
    expect((await fetch(`${url}/account/wallet`, { headers })).status).toBe(503);
  });

  test("if links can be neither written nor read", async () => {
    const { url } = await front({ byHash: async () => signedIn });
    expect(await answerOf(await fetch(`${url}/auth/link/wallet`, { method: "POST", headers }))).toEqual(UNAVAILABLE);
    expect(await answerOf(await fetch(`${url}/auth/link/wallet/handle`, { headers }))).toEqual(UNAVAILABLE);
    expect(await answerOf(await fetch(`${url}/auth/link/wallet/request/state`))).toEqual(UNAVAILABLE);
    const form = { state: "s", error: "access_denied" };
    expect(await answerOf(await postForm(`${url}/auth/link/wallet/response`, form))).toEqual(UNAVAILABLE);
  });

  test("an internal fault returns 500 with a message without details", async () => {
    const byHandle = async () => {
      throw new Error("secret detail");
    };
    const { url } = await front({ byHash: async () => signedIn }, { byHandle });
    const response = await fetch(`${url}/auth/link/wallet/handle`, { headers });
    expect([response.status, await response.json()]).toEqual([500, { message: "This did not work." }]);
  });
});
