import fc from "fast-check";
import { expect } from "vitest";
import { z } from "zod";
import { managementRouter } from "../../src/management/router.ts";
import { aBrowser } from "../support/browser.ts";
import { basicAuth } from "../support/flow.ts";
import { OPERATOR, type TestServer, test } from "../support/server.ts";

/** Number of requests; CI sends more than a developer does. */
const RUNS = Number(process.env.MODEL_RUNS ?? 300);

/** What a generated request may be sent to. `body`: its media type. */
interface Target {
  readonly method: string;
  readonly path: string;
  readonly input: Schema | undefined;
  readonly body: string | undefined;
  /** Parameters by where they stand. */
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly schema: Schema }[];
}
/** The members of JSON Schema that the generator follows; it makes anything of all others. */
interface Schema {
  readonly $ref?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly minimum?: number;
  readonly maximum?: number;
}

/** Texts that have broken programs. */
const HOSTILE = [
  ...[
    "",
    " ",
    "\u0000",
    "a\u0000b",
    "\ud800",
    "\u202e",
    "İ",
    "e\u0301",
    "\ufeff",
    "'",
    '"',
    "\\",
    "%",
    "%00",
    "%zz",
    "a\r\nb: c",
    "$1",
    "a'--",
  ],
  ...["__proto__", "constructor", "null", "{}", "[]", "0", "-1", "1e309", "99999999999999999999", "NaN", "infinity", "-infinity"],
  ...["https://", "https://x", "https://[::1]:0/", "https://a.example/%", "http://localhost", "javascript:alert(1)", "urn:x", "../.."],
  ...["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "+275760-09-13T00:00:00.000Z", "2026-02-30", "x".repeat(2000), "😀".repeat(100)],
  ...["eyJhbGciOiJub25lIn0.e30.", "e30.e30.e30", "a.b.c", "00000000-0000-7000-8000-000000000001", "default", "a@b.c"],
];

type Root = {
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
  readonly $defs?: Readonly<Record<string, Schema>>;
};

/** Inputs that mostly fit a schema, and have something else in places. `known`: texts that name what exists. */
function inputs(root: Root, known: readonly string[]) {
  const text = fc.oneof(fc.constantFrom(...HOSTILE), fc.constantFrom(...known), fc.string({ unit: "binary", maxLength: 20 }));
  const anything: fc.Arbitrary<unknown> = fc.oneof(
    text,
    fc.jsonValue({ maxDepth: 3 }),
    fc.constantFrom(null, -1, 2 ** 31, 2 ** 53, 1e308, 0.5),
  );
  const referenced = ($ref: string): Schema =>
    root.components?.schemas?.[$ref.split("/").at(-1) ?? ""] ?? root.$defs?.[$ref.split("/").at(-1) ?? ""] ?? {};

  function fitting(schema: Schema, depth: number): fc.Arbitrary<unknown> {
    const next = (other: Schema | undefined) => (other === undefined || depth > 6 ? anything : mostly(other, depth + 1));
    if (schema.$ref !== undefined) return next(referenced(schema.$ref));
    if (schema.const !== undefined) return fc.constant(schema.const);
    if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
    const choices = schema.anyOf ?? schema.oneOf;
    if (choices !== undefined) return fc.oneof(...choices.map(next));
    if (schema.allOf !== undefined) return fc.tuple(...schema.allOf.map(next)).map((parts) => Object.assign({}, ...parts));
    const types = [schema.type ?? []].flat();
    if (types.length > 1) return fc.oneof(...types.map((type) => next({ ...schema, type })));
    switch (types[0]) {
      case "object": {
        const { properties = {}, required = [], additionalProperties: others } = schema;
        const named = fc.record(Object.fromEntries(Object.entries(properties).map(([name, member]) => [name, next(member)])), {
          requiredKeys: [...required],
        });
        const more = typeof others === "object" ? fc.dictionary(text, next(others), { maxKeys: 3 }) : fc.constant({});
        return fc.tuple(more, named).map(([added, members]) => ({ ...added, ...members }));
      }
      case "array":
        return fc.array(next(schema.items), { maxLength: 3 });
      case "integer":
      case "number":
        return fc.constantFrom(schema.minimum ?? 0, schema.maximum ?? 100, 1, 300, (schema.minimum ?? 0) - 1);
      case "boolean":
        return fc.boolean();
      case "string":
        return text;
      default:
        return anything;
    }
  }
  const mostly = (schema: Schema, depth = 0): fc.Arbitrary<unknown> =>
    fc.oneof({ weight: 24, arbitrary: fitting(schema, depth) }, { weight: 1, arbitrary: anything });
  return { mostly, anything };
}

/** All procedures of the management API but streams, and all operations that the OpenAPI document describes. */
async function everyTarget(url: string) {
  type Procedure = { readonly _def: { readonly type: string; readonly inputs: readonly z.ZodType[] } };
  const procedures = Object.entries(managementRouter._def.procedures as unknown as Readonly<Record<string, Procedure>>)
    .filter(([, { _def }]) => _def.type !== "subscription")
    .map(([path, { _def }]): Target => {
      const isQuery = _def.type === "query";
      const schema = _def.inputs[0] && (z.toJSONSchema(_def.inputs[0], { io: "input", unrepresentable: "any" }) as Schema);
      const parameters = isQuery && schema !== undefined ? [{ name: "input", in: "json", schema }] : [];
      return {
        method: isQuery ? "GET" : "POST",
        path: `/trpc/${path}`,
        input: schema,
        body: isQuery ? undefined : "application/json",
        parameters,
      };
    });
  const document = await (await fetch(new URL("/openapi.json", url))).json();
  const operations = Object.entries(document.paths as Record<string, Record<string, Operation>>).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { parameters = [], requestBody }]): Target[] => {
      const place = { method: method.toUpperCase(), path, parameters };
      const bodies = Object.entries(requestBody?.content ?? {});
      if (bodies.length === 0) return [{ ...place, input: undefined, body: undefined }];
      return bodies.map(([body, { schema }]) => ({ ...place, input: schema, body }));
    }),
  );
  return { root: document as Root, targets: [...procedures, ...operations] };
}
interface Operation {
  readonly parameters?: Target["parameters"];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
}

const asText = (value: unknown): string => (typeof value === "string" ? value : (JSON.stringify(value) ?? "")).toWellFormed();

/** @param input of the body  @param values of the parameters, in their order */
function requestOf({ method, path, body, parameters }: Target, input: unknown, values: readonly unknown[]) {
  const query = new URLSearchParams();
  let target = path;
  const headers: Record<string, string> = {};
  for (const [index, { name, in: place }] of parameters.entries()) {
    const value = values[index];
    if (place === "path") target = target.replace(`{${name}}`, encodeURIComponent(asText(value)) || "x");
    else if (place === "json") query.append(name, JSON.stringify(value) ?? "");
    else if (place === "query") query.append(name, asText(value));
    else if (place === "header" && /^[\x20-\x7e]*$/.test(asText(value))) headers[name] = asText(value);
  }
  const isForm = body?.includes("form") === true && typeof input === "object" && input !== null;
  const sent = isForm
    ? new URLSearchParams(Object.entries(input).map(([name, value]) => [name, asText(value)] as [string, string])).toString()
    : JSON.stringify(input);
  if (body !== undefined) headers["content-type"] = body;
  const suffix = query.size > 0 ? `?${query}` : "";
  return { path: `${target}${suffix}`, init: { method, headers, ...(body !== undefined && { body: sent ?? "" }) } };
}

/** Texts of things that exist, and no name of the operator, whose sign-in would be ended. */
async function knownTexts(server: TestServer): Promise<readonly string[]> {
  const user = await server.signedInUser();
  const { access_token, refresh_token, id_token } = await server.tokens(server.clients.web, user.browser, {
    scope: "openid offline_access notes:read",
  });
  return [
    ...[
      user.email,
      user.id,
      access_token,
      refresh_token,
      id_token,
      "web",
      "agent",
      "worker",
      "public-app",
      "openid",
      "notes:read",
      "S256",
      "code",
    ],
    ...["https://app.example.test/cb", "https://crm.example.test/mcp", "client_credentials", "refresh_token", "application/json"],
  ];
}

test(`whatever is sent is answered, and no answer is a fault (${RUNS} requests)`, { timeout: 60_000 + RUNS * 200 }, async ({ server }) => {
  const { body: signedIn } = await aBrowser(server.url).json("/auth/login", OPERATOR);
  const { root, targets } = await everyTarget(server.url);
  expect(targets.length).toBeGreaterThan(140);
  const known = await knownTexts(server);
  const { mostly, anything } = inputs(root, known);
  const senders = [
    { authorization: `Bearer ${signedIn.access_token}` },
    { authorization: basicAuth("web", "web-secret") },
    { authorization: basicAuth("worker", "worker-secret") },
    {},
  ];
  const request = fc
    .constantFrom(...targets)
    .chain((target) =>
      fc
        .tuple(
          target.input === undefined ? anything : mostly(target.input),
          fc.tuple(...target.parameters.map(({ schema }) => mostly(schema))),
          target.path.startsWith("/trpc/") ? fc.constant(senders[0]) : fc.constantFrom(...senders),
        )
        .map(([input, values, sender]) => ({ sender, ...requestOf(target, input, values) })),
    );
  await fc.assert(
    fc.asyncProperty(request, async ({ path, init, sender }) => {
      const send = () => {
        const headers = { ...init.headers, ...sender };
        return fetch(new URL(path, server.url), { ...init, headers, redirect: "manual", signal: AbortSignal.timeout(20_000) });
      };
      // Again: a connection that was idle while this process was busy may be closed just as it is used. What no server answers fails twice.
      const answer = await send().catch(send);
      if (answer.headers.get("content-type")?.startsWith("text/event-stream") === true) return answer.body?.cancel();
      const text = await answer.text();
      expect([path, answer.status < 500 || (answer.status === 503 && answer.headers.has("retry-after")), server.faults()]).toEqual([
        path,
        true,
        [],
      ]);
      if (answer.headers.get("content-type")?.includes("json") === true && text !== "") JSON.parse(text);
    }),
    { numRuns: RUNS, endOnFailure: true },
  );
});
