import { expect, test } from "vitest";
import { isWebResource, sameResource, spellingsOf } from "../../../src/protocol/access.ts";

test.for<[string, string, boolean]>([
  ["https://h.example", "https://h.example", true],
  ["https://h.example", "https://h.example/", true],
  ["http://localhost:8080", "http://localhost:8080/", true],
  ["https://h.example/mcp", "https://h.example/mcp/", false],
  ["https://h.example?a", "https://h.example?a/", false],
  ["https://h.example", "https://h.example//", false],
  ["https://h.example/", "https://h.example//", false],
  ["https://h.example", "https://H.example/", false],
  ["https://h.example", "https://h.example:443/", false],
  ["https://h.example", "http://h.example/", false],
  ["https://h.example", "https://h.example.evil.test/", false],
  ["https:", "https:/", false],
  ["https:/", "https://", false],
  ["urn:example:a", "urn:example:a/", false],
  ["client", "client/", false],
])("docs/protocol.md#resources: %s and %s are the same resource: %s", ([one, other, expected]) => {
  expect([sameResource(one, other), sameResource(other, one)]).toEqual([expected, expected]);
  expect([spellingsOf(one).includes(other), spellingsOf(other).includes(one)]).toEqual([expected, expected]);
});

test.for<[string, boolean]>([
  ["https://h.example/mcp", true],
  ["http://h.example/mcp", false],
  ["http://localhost:3000/mcp", true],
  ["http://[::1]:3000/mcp", true],
  ["http://127.0.0.1/", true],
  ["http://127.100.200.254/", true],
  ["http://127.0.0.1.evil.test/", false],
  ["http://localhost.evil.test/", false],
  ["ftp://localhost/mcp", false],
  ["https://user@h.example/mcp", false],
  ["https://:secret@h.example/mcp", false],
  ["h.example/mcp", false],
])("docs/protocol.md#resources: tokens may be sent to %s: %s", ([uri, expected]) => {
  expect(isWebResource(uri)).toBe(expected);
});
