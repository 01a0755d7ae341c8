import { describe, expect, test } from "vitest";
import { parseChallenges } from "../../../agent-sdk/src/challenge.ts";
import { demandOf, judgedMetadata, metadataAddresses } from "../../../agent-sdk/src/resource.ts";
import { covers, isSameIdentifier, issuerMetadataUrls, isTrustworthy, resourceMetadataUrl } from "../../../agent-sdk/src/urls.ts";

const ISSUER = "https://auth.example";
const MCP = "https://notes.example/mcp";
const AT = "https://notes.example/.well-known/oauth-protected-resource/mcp";

describe("RFC 9728 §3.3: the metadata of a called URL", () => {
  const judged = (document: object, { at = AT, called = MCP } = {}) => {
    try {
      return judgedMetadata({ document: { authorization_servers: [ISSUER], ...document }, at, called, issuer: ISSUER });
    } catch (error) {
      return (error as { code: string }).code;
    }
  };
  test.for<[string, object, { at?: string; called?: string }, unknown]>([
    ["names the URL that was called", { resource: MCP }, {}, { identifier: MCP, takesProofs: false }],
    [
      "names it wherever the document lies",
      { resource: MCP },
      { at: "https://notes.example/any" },
      { identifier: MCP, takesProofs: false },
    ],
    ["ignores the query of the call", { resource: MCP }, { called: `${MCP}?a=1` }, { identifier: MCP, takesProofs: false }],
    [
      "names a resource around it, at its own address",
      { resource: MCP },
      { called: `${MCP}/a/b` },
      { identifier: MCP, takesProofs: false },
    ],
    [
      "names the whole server, at its own address",
      { resource: "https://notes.example" },
      { at: "https://notes.example/.well-known/oauth-protected-resource", called: MCP },
      { identifier: "https://notes.example", takesProofs: false },
    ],
    ["may not speak for the server from the address of one path", { resource: "https://notes.example" }, {}, "wrong_resource"],
    ["may not name a path beside it", { resource: "https://notes.example/mcp2" }, {}, "wrong_resource"],
    ["may not name a longer path", { resource: `${MCP}/a` }, {}, "wrong_resource"],
    ["may not name a part of a segment", { resource: MCP }, { called: "https://notes.example/mcpx" }, "wrong_resource"],
    ["may not name another origin", { resource: "https://bank.example/mcp" }, {}, "wrong_resource"],
    ["may not name another port", { resource: "https://notes.example:8443/mcp" }, {}, "wrong_resource"],
    ["must name a resource", {}, {}, "invalid_response"],
    ["must name a URL", { resource: "notes" }, {}, "invalid_response"],
    ["must name the agent's issuer", { resource: MCP, authorization_servers: ["https://evil.example"] }, {}, "wrong_issuer"],
    ["must name an issuer", { resource: MCP, authorization_servers: undefined }, {}, "wrong_issuer"],
    [
      "may name further issuers, and a root with its slash",
      { resource: MCP, authorization_servers: ["https://other.example", `${ISSUER}/`] },
      {},
      { identifier: MCP, takesProofs: false },
    ],
    [
      "says that proofs are taken",
      { resource: MCP, dpop_signing_alg_values_supported: ["EdDSA", "ES256"] },
      {},
      { identifier: MCP, takesProofs: true },
    ],
    [
      "says which proofs are taken",
      { resource: MCP, dpop_signing_alg_values_supported: ["EdDSA"] },
      {},
      { identifier: MCP, takesProofs: false },
    ],
  ])("%s", ([, document, where, expected]) => {
    expect(judged(document, where)).toEqual(expected);
  });
});

test("the address of a metadata document is at the origin that was called", () => {
  expect(metadataAddresses(MCP, AT)).toEqual([AT]);
  expect(metadataAddresses(`${MCP}?a=1#b`, undefined)).toEqual([AT, "https://notes.example/.well-known/oauth-protected-resource"]);
  expect(metadataAddresses("https://notes.example", undefined)).toEqual(["https://notes.example/.well-known/oauth-protected-resource"]);
  for (const named of ["https://evil.example/m", "http://notes.example/m", "/relative"])
    expect(() => metadataAddresses(MCP, named)).toThrow("another origin");
});

test("a challenge demands scopes and says whether proofs are taken", () => {
  const demand = (header: string) => demandOf(parseChallenges(header));
  expect(demand('Basic realm="x"')).toBeUndefined();
  expect(demand("Bearer")).toEqual({ metadataUrl: undefined, scope: undefined, takesProofs: false });
  expect(demand(`Bearer scope="a b", resource_metadata="${AT}"`)).toEqual({ metadataUrl: AT, scope: "a b", takesProofs: false });
  expect(demand(`Bearer scope="a", DPoP algs="EdDSA ES256", resource_metadata="${AT}"`)).toEqual({
    metadataUrl: AT,
    scope: "a",
    takesProofs: true,
  });
  expect(demand("DPoP")).toMatchObject({ takesProofs: true });
  expect(demand('DPoP algs="EdDSA"')).toMatchObject({ takesProofs: false });
});

test("URLs: what a resource covers, identifiers, addresses of metadata, trust", () => {
  expect([covers("https://h/a", "https://h/a"), covers("https://h/a", "https://h/a/b?c"), covers("https://h", "https://h/x")]).toEqual([
    true,
    true,
    true,
  ]);
  expect([covers("https://h/a/", "https://h/a"), covers("https://h/a", "https://h/ab"), covers("https://h/a", "http://h/a")]).toEqual([
    false,
    false,
    false,
  ]);
  expect([covers("https://h/a?t=1", "https://h/a?t=1"), covers("https://h/a?t=1", "https://h/a?t=2")]).toEqual([true, false]);
  expect([isSameIdentifier("https://h", "https://h/"), isSameIdentifier("https://h/a", "https://h/a/")]).toEqual([true, false]);
  expect(resourceMetadataUrl("https://h/a?t=1")).toBe("https://h/.well-known/oauth-protected-resource/a?t=1");
  expect(issuerMetadataUrls("https://h/realm/")).toEqual([
    "https://h/.well-known/oauth-authorization-server/realm/",
    "https://h/realm/.well-known/openid-configuration",
  ]);
  for (const text of ["https://h", "http://localhost:1", "http://127.0.0.1", "http://[::1]:3", "http://a.localhost"])
    expect(isTrustworthy(text)).toBe(true);
  for (const text of ["http://h", "ftp://h", "https://u:p@h", "h", "http://127.0.0.1.example"]) expect(isTrustworthy(text)).toBe(false);
});
