import { expect, test } from "vitest";
import { clientKind, isResourceScope, lifetimeAt, mayHaveRecord, resourceKey } from "../../../src/resources/resource.ts";
import { someTerms } from "../../support/builders.ts";

test.for([
  ["https://a.example.test/", "https://a.example.test"],
  ["https://a.example.test", "https://a.example.test"],
  ["https://a.example.test/mcp/", "https://a.example.test/mcp/"],
  ["urn:example:/", "urn:example:/"],
  ["https://a.example.test/?a=/", "https://a.example.test/?a=/"],
] as const)("the key of %s is %s", ([resource, key]) => expect(resourceKey(resource)).toBe(key));

test("each origin of a client has its kind", () => {
  expect((["dynamic", "metadata_document", "operator", "developer", "built_in"] as const).map((origin) => clientKind({ origin }))).toEqual([
    "registered",
    "document",
    "named",
    "named",
    "named",
  ]);
});

test("the scopes of the protocol belong to no resource", () => {
  expect(["openid", "profile", "email", "offline_access", "clients:manage", "agent:readonly", "agent:x", 'a"b'].some(isResourceScope)).toBe(
    false,
  );
  expect(["notes:read", "openid2", "agents"].every(isResourceScope)).toBe(true);
});

test("neither the issuer nor an insecure URI can have a record", () => {
  const issuer = "https://id.example.test";
  expect([`${issuer}/`, issuer, "http://a.example.test", "https://a.example.test/#x"].some((each) => mayHaveRecord(each, issuer))).toBe(
    false,
  );
  expect(mayHaveRecord("http://localhost:4000/mcp", issuer)).toBe(true);
});

test("an access token lives as long as the shortest-lived resource of its audience, and never longer than the server lets it", () => {
  const [short, long] = [
    someTerms({ resource: "https://short.example.test", accessTokenLifetime: 60 }),
    someTerms({ resource: "https://long.example.test", accessTokenLifetime: 9000 }),
  ];
  expect(lifetimeAt(900, ["https://short.example.test/", "https://long.example.test"], [short, long])).toBe(60);
  expect(lifetimeAt(900, ["https://long.example.test"], [short, long])).toBe(900);
  expect(lifetimeAt(900, ["https://other.example.test"], [short, long])).toBe(900);
});
