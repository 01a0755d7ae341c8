import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { html } from "../../../src/front/pages/views/layout.ts";
import type { Schema, Schemas } from "../../../src/front/system/api-description.ts";
import { exampleOf, tryForm } from "../../../src/front/system/try-it.ts";

const { curlCommand } = await import(String(new URL("../../../src/front/pages/assets/try/curl.js", import.meta.url)));

const SCHEMAS: Schemas = { Token: { type: "object", properties: { token: { type: "string" } }, required: ["token"] } };

describe("an example of a body", () => {
  const cases: readonly (readonly [string, Schema, unknown])[] = [
    ["the example that is stated", { type: "string", example: "a" }, "a"],
    ["the only value", { const: 1 }, 1],
    ["the default, null included", { default: null, anyOf: [{ type: "string" }] }, null],
    ["the first choice", { enum: ["one", "two"] }, "one"],
    ["the first alternative", { oneOf: [{ type: "boolean" }, { type: "null" }] }, false],
    ["the first of several types", { type: ["integer", "null"] }, 0],
    ["a list of one", { type: "array", items: { $ref: "#/components/schemas/Token" } }, [{ token: "" }]],
    ["members that are required or have an example", { properties: { a: {}, b: { example: 2 }, c: {} }, required: ["c"] }, { b: 2, c: "" }],
    ["members of parts", { allOf: [{ properties: { a: {} }, required: ["a"] }] }, { a: "" }],
    ["the first member where none is required", { properties: { name: { type: "string" }, other: {} } }, { name: "" }],
    ["an object without members", { type: "object" }, {}],
  ];
  test.for(cases)("%s", ([, schema, expected], { expect }) => {
    expect(exampleOf(schema, SCHEMAS)).toEqual(expected);
  });
});

describe("the form of an operation", () => {
  const printed = (method: string, members: object) =>
    html`${tryForm({ method, path: "/a/{id}", ...members } as never, SCHEMAS, "/base/a/{id}")}`.text.replaceAll(/\s+/g, " ");

  test("says where a field is sent, and which are required", () => {
    const form = printed("DELETE", { parameters: [{ name: "id", in: "path", required: true }], security: [{ session: [] }] });
    expect(form).toContain("Send DELETE, which deletes");
    expect(form).toContain('data-target="/base/a/{id}" data-proof="session" hidden>');
    expect(form).toContain('name="id" data-in="path" required');
  });

  test("is a link where the browser has to go itself, and nothing where only a form leads there", () => {
    const responses = { "302": { description: "" } };
    expect(printed("GET", { responses })).toContain('target="_blank" rel="noopener"');
    expect(printed("POST", { responses })).toBe("");
    expect(printed("GET", { responses: { "200": { description: "", content: { "text/html": {} } } } })).toContain("data-opens");
    expect(printed("GET", { responses: { "200": { description: "", content: { "text/html": {}, "text/plain": {} } } } })).not.toContain(
      "data-opens",
    );
  });
});

/** What a shell makes of a command: its words. */
const wordsOf = (command: string, env: Readonly<Record<string, string>> = {}): readonly string[] =>
  execFileSync("sh", ["-c", `set -f; curl() { printf '%s\\0' "$@"; }; ${command}`], { encoding: "utf8", env })
    .split("\0")
    .slice(0, -1);

describe("the curl command", () => {
  const request = { method: "POST", url: "https://id.example.test/a", query: [], header: [], form: [], json: undefined, proof: undefined };

  test.for(["it's", "a\nb", '$HOME `id` \\ "', "!! # & ; *", "''", "'\\''"])("passes %j on unchanged", (value, { expect }) => {
    const body = JSON.stringify({ value });
    const command = curlCommand({ ...request, form: [["scope", value]], header: [["X-Note", value]], query: [["q", value]], json: body });
    expect(wordsOf(command)).toEqual([
      `https://id.example.test/a?q=${encodeURIComponent(value)}`,
      ...["-H", `X-Note: ${value}`],
      ...["--data-urlencode", `scope=${value}`],
      ...["-H", "Content-Type: application/json", "--data-raw", body],
    ]);
  });

  test("has variables in place of secrets", () => {
    const command = curlCommand({
      ...request,
      query: [
        ["token", "s3cret"],
        ["lang", "en"],
      ],
      header: [["X-CSRF-Token", "s3cret"]],
      form: [
        ["client_secret", "s3cret"],
        ["token_type_hint", "access_token"],
      ],
      json: '{"email": "a@b.test", "password" : "s3cr\\"et", "list": [{"token":"s3cret"}]}',
      proof: "bearer",
    });
    expect(command).not.toContain("s3cr");
    expect(wordsOf(command, { TOKEN: "T", X_CSRF_TOKEN: "X", CLIENT_SECRET: "C", PASSWORD: "P" })).toEqual([
      "https://id.example.test/a?token=T&lang=en",
      ...["-H", "Authorization: Bearer T", "-H", "X-CSRF-Token: X"],
      ...["--data-urlencode", "client_secret=C", "--data-urlencode", "token_type_hint=access_token"],
      ...["-H", "Content-Type: application/json", "--data-raw", '{"email": "a@b.test", "password" : "P", "list": [{"token":"T"}]}'],
    ]);
  });

  test.for([
    ["GET", [], []],
    ["POST", [["a", "b"]], []],
    ["POST", [], ["-X", "POST"]],
    ["DELETE", [], ["-X", "DELETE"]],
    ["PATCH", [["a", "b"]], ["-X", "PATCH"]],
  ] as const)("names %s where curl would not use it: with form %j", ([method, form, expected], { expect }) => {
    expect(wordsOf(curlCommand({ ...request, method, form })).slice(0, expected.length + 1)).toEqual([...expected, request.url]);
  });
});
