import { expect, test } from "vitest";
import { metadataUrl, readMetadata } from "../../../src/resources/metadata.ts";

const RESOURCE = "http://localhost:4000/mcp";
const ISSUER = "http://localhost:3000";
const document = (members: object) => ({ resource: RESOURCE, authorization_servers: [ISSUER], ...members });

test.for([
  ["https://api.example.test", "https://api.example.test/.well-known/oauth-protected-resource"],
  ["https://api.example.test/", "https://api.example.test/.well-known/oauth-protected-resource"],
  [RESOURCE, "http://localhost:4000/.well-known/oauth-protected-resource/mcp"],
  ["https://api.example.test/a?b=c", "https://api.example.test/.well-known/oauth-protected-resource/a?b=c"],
] as const)("RFC 9728 §3.1: the metadata of %s are at %s", ([resource, url]) => expect(metadataUrl(resource)).toBe(url));

test.for([
  ["no object", null, "not_an_object"],
  ["a list", [], "not_an_object"],
  ["no resource", { authorization_servers: [ISSUER] }, "resource_differs"],
  ["another resource", document({ resource: "http://localhost:4000/other" }), "resource_differs"],
  ["no authorization server", document({ authorization_servers: undefined }), "issuer_not_named"],
  ["another authorization server", document({ authorization_servers: ["https://evil.example.test"] }), "issuer_not_named"],
  ["a text instead of a list", document({ authorization_servers: ISSUER }), "issuer_not_named"],
] as const)("refuses a document with %s", ([, value, fault]) => expect(readMetadata(value, RESOURCE, ISSUER)).toBe(fault));

test("reads the name and the scopes that a record may define", () => {
  const scopes = ["notes:read", "notes:read", "openid", "offline_access", "clients:manage", "agent:exec", 'no"token', 7, "x".repeat(201)];
  expect(readMetadata(document({ resource_name: "Notes", scopes_supported: scopes }), RESOURCE, ISSUER)).toEqual({
    name: "Notes",
    scopes: ["notes:read"],
  });
  const many = Array.from({ length: 150 }, (_, index) => `s${index}`);
  expect(readMetadata(document({ scopes_supported: many }), RESOURCE, ISSUER)).toMatchObject({ scopes: many.slice(0, 100) });
});

test("leaves out a name that would deceive users, and takes an issuer with or without its root slash", () => {
  const found = readMetadata(document({ resource_name: "evil\u202Egnp", authorization_servers: [`${ISSUER}/`] }), RESOURCE, ISSUER);
  expect(found).toEqual({ name: undefined, scopes: [] });
});
