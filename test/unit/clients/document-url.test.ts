import { expect, test } from "vitest";
import { assertDocumentUrl, documentHost, namesDocument } from "../../../src/clients/find-client.ts";
import { refusalOf } from "../../support/builders.ts";

test.for([
  "https://client.example.test/doc",
  "https://client.example.test/oauth/client.json",
  "https://client.example.test:443/doc",
  "https://client.example.test:8443/doc/",
  "https://Client.Example.test/doc",
  "https://client.example.test/a..b/.well-known/doc",
  "https://client.example.test/%7Euser/doc",
  "https://claude.ai/oauth/claude-code-client-metadata",
])("CIMD §3: %s is accepted as a client_id", (url) => {
  expect(refusalOf(() => assertDocumentUrl(url))).toBe("granted");
});

test.for([
  ["http://client.example.test/doc", "document_url_not_https"],
  ["HTTPS://client.example.test/doc", "document_url_not_https"],
  ["https:/client.example.test/doc", "document_url_not_https"],
  [" https://client.example.test/doc", "document_url_not_https"],
  ["https://client.example.test", "document_url_without_path"],
  ["https://client.example.test/", "document_url_without_path"],
  ["https:///doc", "document_url_malformed"],
  ["https://client.example.test/doc#x", "document_url_with_fragment"],
  ["https://client.example.test/doc#", "document_url_with_fragment"],
  ["https://client.example.test/doc?x=1", "document_url_with_query"],
  ["https://client.example.test/doc?", "document_url_with_query"],
  ["https://user@client.example.test/doc", "document_url_with_userinfo"],
  ["https://user:secret@client.example.test/doc", "document_url_with_userinfo"],
  ["https://client.example.test/a/../doc", "document_url_with_dot_segment"],
  ["https://client.example.test/./doc", "document_url_with_dot_segment"],
  ["https://client.example.test/doc/..", "document_url_with_dot_segment"],
  ["https://client.example.test/%2e%2E/doc", "document_url_with_dot_segment"],
  ["https://client.example.test/.%2e/doc", "document_url_with_dot_segment"],
  ["https://client.example.test/%2e", "document_url_with_dot_segment"],
  ["https://client.example.test/do c", "document_url_malformed"],
  ["https://client.example.test/doc\n", "document_url_malformed"],
  ["https://client.example.test\\doc/x", "document_url_malformed"],
  ["https://client.example.test/dóc", "document_url_malformed"],
  ["https://client.example.test:99999/doc", "document_url_malformed"],
  [`https://client.example.test/${"x".repeat(500)}`, "document_url_too_long"],
] as const)("CIMD §3, abuse 53: %j is refused with %s", ([url, reason]) => {
  expect(refusalOf(() => assertDocumentUrl(url))).toEqual(["invalid_client", reason]);
});

test("only ids that begin with https:// are resolved as documents", () => {
  expect(["https://x.test/doc", "c_abc", "urn:x", "http://x.test/doc"].map(namesDocument)).toEqual([true, false, false, false]);
});

test("the verified host is shown with its port unless it is the default one", () => {
  expect(documentHost("https://client.example.test/doc")).toBe("client.example.test");
  expect(documentHost("https://client.example.test:8443/doc")).toBe("client.example.test:8443");
  expect(documentHost("https://münchen.example.test/doc")).toBe("xn--mnchen-3ya.example.test");
});
