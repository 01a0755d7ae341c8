import { expect, test } from "vitest";
import { sameResource } from "../../../src/protocol/access.ts";

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
});
