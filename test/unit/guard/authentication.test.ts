import { describe, expect, test } from "vitest";
import { assertAuthenticated, bothDemands, checkedDemand } from "../../../guard-sdk/src/authentication.ts";
import { challenge } from "../../../guard-sdk/src/challenge.ts";
import { createGuard } from "../../../guard-sdk/src/index.ts";
import type { Principal } from "../../../guard-sdk/src/principal.ts";
import { startIssuer } from "../../support/guard-issuer.ts";

const NOW = 10_000;
const ada: Principal = { sub: "ada", clientId: "app", scopes: [], actors: [], audience: ["r"], expiresAt: NOW + 60, issuer: "i" };

describe("RFC 9470: what a route asks of the sign-in", () => {
  test.for<[string, Partial<Principal>, Parameters<typeof checkedDemand>[0], string | undefined]>([
    ["a class that will do", { acr: "phr" }, { acr: ["urn:countersign:mfa", "phr"] }, undefined],
    ["another class", { acr: "urn:countersign:pwd" }, { acr: ["phr"] }, "acr_insufficient"],
    ["no class in the token", {}, { acr: ["phr"] }, "acr_insufficient"],
    ["a sign-in just recent enough", { authTime: NOW - 300 }, { maxAge: 300 }, undefined],
    ["a sign-in a second too old", { authTime: NOW - 301 }, { maxAge: 300 }, "sign_in_too_old"],
    ["no time in the token", { acr: "phr" }, { maxAge: 300 }, "sign_in_too_old"],
    ["the right class, too old", { acr: "phr", authTime: 1 }, { acr: ["phr"], maxAge: 300 }, "sign_in_too_old"],
  ])("%s", ([, members, demand, reason]) => {
    const judged = () => assertAuthenticated({ ...ada, ...members }, checkedDemand(demand), NOW);
    if (reason === undefined) expect(judged).not.toThrow();
    else expect(judged).toThrow(expect.objectContaining({ code: "insufficient_user_authentication", reason }));
  });

  test.for([
    {},
    { acr: [] },
    { acr: ["two words"] },
    { acr: ['a"b'] },
    { acr: "phr" },
    { maxAge: -1 },
    { maxAge: 1.5 },
    { age: 5 },
  ] as never[])("refuses the demand %j when the route is made", (demand) => {
    expect(() => checkedDemand(demand)).toThrow(TypeError);
  });

  test("two demands on one request make one that fulfils both", () => {
    expect(bothDemands(undefined, { maxAge: 60 })).toEqual({ maxAge: 60 });
    expect(bothDemands({ acr: ["a", "b"], maxAge: 60 }, { acr: ["b"], maxAge: 300 })).toEqual({ acr: ["b"], maxAge: 60 });
  });

  test("a route of a guard answers a token without the sign-in with 401 and the challenge, and its other routes let it in", async () => {
    const issuer = await startIssuer();
    const resource = "https://r.example/mcp";
    const guard = createGuard({ resource, authorizationServers: [issuer.issuer] });
    const request = async () => new Request(resource, { headers: { authorization: `Bearer ${await issuer.token(resource)}` } });
    const route = guard.protect(() => new Response("in"), { requireAuthentication: { acr: ["phr"], maxAge: 60 } });
    const refused = await route(await request());
    expect([refused.status, await refused.json()]).toEqual([401, { error: "insufficient_user_authentication" }]);
    expect(refused.headers.get("www-authenticate")).toMatch(
      /^Bearer error="insufficient_user_authentication", acr_values="phr", max_age="60", /,
    );
    expect(await (await guard.protect(() => new Response("in"))(await request())).text()).toBe("in");
    await issuer.close();
  });

  test("the challenge names classes and age", () => {
    const subject = { scopes: ["a"], authentication: { acr: ["phr", "urn:x"], maxAge: 60 }, metadataUrl: "https://r.example/m" };
    expect(challenge(subject, "insufficient_user_authentication")).toBe(
      'Bearer error="insufficient_user_authentication", acr_values="phr urn:x", max_age="60", scope="a", resource_metadata="https://r.example/m"',
    );
    expect(challenge(subject, "insufficient_scope")).not.toContain("acr_values");
  });
});
