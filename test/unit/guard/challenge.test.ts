import { describe, expect, test } from "vitest";
import { challenge as challengeOf, refusalAnswer } from "../../../guard-sdk/src/challenge.ts";
import { GuardRefusal } from "../../../guard-sdk/src/refusal.ts";

const metadataUrl = "https://notes.example/.well-known/oauth-protected-resource/mcp";
const metadata = `resource_metadata="${metadataUrl}"`;

describe("challenge", () => {
  test.for([
    ["no credentials", ["notes:read"], undefined, `Bearer scope="notes:read", ${metadata}`],
    ["several scopes", ["b", "a"], undefined, `Bearer scope="b a", ${metadata}`],
    ["no scopes", [], undefined, `Bearer ${metadata}`],
    ["offline_access and another scope", ["a", "offline_access"], undefined, `Bearer scope="a", ${metadata}`],
    ["offline_access only", ["offline_access"], undefined, `Bearer ${metadata}`],
    ["bad token", ["a"], "invalid_token", `Bearer error="invalid_token", scope="a", ${metadata}`],
    ["missing scope", ["a", "b"], "insufficient_scope", `Bearer error="insufficient_scope", scope="a b", ${metadata}`],
  ] as const)("%s", ([, scopes, error, expected]) => {
    expect(challengeOf({ scopes, metadataUrl }, error)).toBe(expected);
  });
});

describe("refusalAnswer", () => {
  const subject = { scopes: ["a"], metadataUrl };

  test.for([
    ["no_credentials", 401, "", `Bearer scope="a", ${metadata}`],
    ["invalid_token", 401, '{"error":"invalid_token"}', `Bearer error="invalid_token", scope="a", ${metadata}`],
    ["insufficient_scope", 403, '{"error":"insufficient_scope"}', `Bearer error="insufficient_scope", scope="a", ${metadata}`],
    ["invalid_request", 400, '{"error":"invalid_request"}', `Bearer error="invalid_request", ${metadata}`],
  ] as const)("%s", ([code, status, body, challenge]) => {
    const answer = refusalAnswer(new GuardRefusal(code, "reason"), subject);
    expect([answer.status, answer.body, answer.headers["WWW-Authenticate"]]).toEqual([status, body, challenge]);
    expect(answer.headers).toMatchObject({ "Cache-Control": "no-store", "Access-Control-Expose-Headers": "WWW-Authenticate" });
  });

  test("an outage is 503 with Retry-After and no challenge", () => {
    const { status, headers } = refusalAnswer(new GuardRefusal("temporarily_unavailable", "reason"), subject);
    expect([status, headers["Retry-After"], headers["WWW-Authenticate"]]).toEqual([503, "5", undefined]);
  });
});
