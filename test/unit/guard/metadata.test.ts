import { describe, expect, test } from "vitest";
import { metadataSite } from "../../../guard-sdk/src/metadata.ts";

const ROOT = "/.well-known/oauth-protected-resource";
const site = (resource: string, scopesSupported: readonly string[] = []) =>
  metadataSite({ resource, authorizationServers: ["https://as.example"], scopesSupported });

describe("location of the metadata document (RFC 9728 §3.1)", () => {
  test.for([
    ["https://h.example", `https://h.example${ROOT}`],
    ["https://h.example/", `https://h.example${ROOT}`],
    ["https://h.example/mcp", `https://h.example${ROOT}/mcp`],
    ["https://h.example/a/b/", `https://h.example${ROOT}/a/b/`],
    ["https://h.example/mcp?tenant=1", `https://h.example${ROOT}/mcp?tenant=1`],
    ["http://127.0.0.1:4000/mcp", `http://127.0.0.1:4000${ROOT}/mcp`],
    ['https://h.example/a"b', `https://h.example${ROOT}/a%22b`],
  ] as const)("%s", ([resource, url]) => {
    expect(site(resource).url).toBe(url);
  });

  test("the document of a resource with a path is served at both locations, and nowhere else", () => {
    const { answer } = site("https://h.example/mcp");
    expect(answer("GET", ROOT)?.body).toBe(answer("GET", `${ROOT}/mcp`)?.body);
    expect([answer("GET", `${ROOT}/other`), answer("GET", "/mcp"), answer("GET", `${ROOT}/`)]).toEqual([undefined, undefined, undefined]);
  });
});

describe("content of the metadata document (RFC 9728 §2)", () => {
  test("has the identifier as it was given, and no empty lists", () => {
    expect(site("https://H.example:443/mcp").document).toEqual({
      resource: "https://H.example:443/mcp",
      authorization_servers: ["https://as.example"],
      bearer_methods_supported: ["header"],
    });
  });

  test("omits offline_access from the scopes", () => {
    expect(site("https://h.example", ["a", "offline_access", "b"]).document.scopes_supported).toEqual(["a", "b"]);
    expect(site("https://h.example", ["offline_access"]).document).not.toHaveProperty("scopes_supported");
  });
});

describe("serving of the metadata document", () => {
  const { answer } = site("https://h.example");

  test.for([
    ["GET", 200],
    ["HEAD", 200],
    ["OPTIONS", 204],
    ["POST", 405],
  ] as const)("%s returns %i, readable from any origin", ([method, status]) => {
    expect(answer(method, ROOT)).toMatchObject({ status, headers: { "Access-Control-Allow-Origin": "*" } });
  });
});
