import { expect, test } from "vitest";
import { createGuard, type GuardOptions, introspection } from "../../../guard-sdk/src/index.ts";
import { refusalOf } from "../../support/guard-refusal.ts";

const RESOURCE = "https://notes.example";

/** A guard, and an authorization server whose answers the test gives. */
function aGuard(options: Partial<GuardOptions> = {}) {
  const asked: ((state: object) => void)[] = [];
  const guard = createGuard({
    resource: RESOURCE,
    authorizationServers: ["https://auth.example"],
    verification: introspection({ clientId: "notes-api", clientSecret: "s", endpoint: "https://auth.example/introspect" }),
    fetch: () => new Promise((resolve) => asked.push((state) => resolve(Response.json(state)))),
    ...options,
  });
  const verify = (token: string, times = 20) => Array.from({ length: times }, () => guard.verifyToken(token));
  const settle = () => new Promise((done) => setImmediate(done));
  return { guard, asked, verify, settle };
}

const active = (sub: string) => ({ active: true, sub, aud: RESOURCE, exp: Math.floor(Date.now() / 1_000) + 300 });

test("concurrent requests with one token share one introspection, and those with another token have their own", async () => {
  const { asked, verify, settle } = aGuard();
  const [ada, bob] = [verify("ada"), verify("bob")];
  await settle();
  expect(asked).toHaveLength(2);
  asked[0]?.(active("ada"));
  asked[1]?.(active("bob"));
  expect(new Set((await Promise.all(ada)).map(({ sub }) => sub))).toEqual(new Set(["ada"]));
  expect(new Set((await Promise.all(bob)).map(({ sub }) => sub))).toEqual(new Set(["bob"]));
});

test("a shared refusal is not kept: the next request introspects again", async () => {
  const { guard, asked, verify, settle } = aGuard();
  const refused = verify("t").map((each) => refusalOf(() => each));
  await settle();
  asked[0]?.({ active: false });
  expect(new Set((await Promise.all(refused)).map(String))).toEqual(new Set(["invalid_token,token_inactive"]));
  const next = guard.verifyToken("t");
  await settle();
  asked[1]?.(active("ada"));
  expect((await next).sub).toBe("ada");
});

test("with a tokenCacheSize of 0 each request introspects by itself", async () => {
  const { asked, verify, settle } = aGuard({ tokenCacheSize: 0 });
  const all = verify("t", 3);
  await settle();
  expect(asked).toHaveLength(3);
  for (const answer of asked) answer(active("ada"));
  expect(await Promise.all(all)).toHaveLength(3);
});

test("an answer is not used again after the machine slept", async () => {
  let now = Math.floor(Date.now() / 1_000);
  const { guard, asked, settle } = aGuard({ clocks: { now: () => now, elapsed: () => 0 } });
  const verify = async (state: object) => {
    const [before, verified] = [asked.length, guard.verifyToken("t")];
    await settle();
    asked[before]?.(state);
    return verified;
  };
  expect([(await verify(active("ada"))).sub, (await verify(active("ada"))).sub, asked.length]).toEqual(["ada", "ada", 1]);
  now += 60;
  expect(await refusalOf(() => verify({ active: false }))).toEqual(["invalid_token", "token_inactive"]);
});
