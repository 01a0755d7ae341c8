import { expect, test } from "vitest";
import * as z from "zod";
import {
  answerPreflight,
  fixedHeaders,
  PAGE_POLICY,
  pageHeaders,
  prepareDocument,
  sendDocument,
  sendJson,
  sendRedirect,
} from "../../../src/front/http/answers.ts";
import {
  apiError,
  credentialFields,
  form,
  json,
  jsonRequest,
  lazily,
  OauthError,
  oauthBodyErrors,
  oauthErrors,
  resource,
  scope,
  seconds,
  secondsSinceEpoch,
  text,
} from "../../../src/front/http/describe.ts";
import { type HotContext, pathsOf, pathText, queryText } from "../../../src/front/http/routes.ts";

/** The response that a function writes. */
function written(write: (ctx: HotContext) => void, request: { readonly url?: string; readonly headers?: object } = {}) {
  const headers: Record<string, string> = {};
  const ctx = {
    req: { headers: {}, ...request },
    status: 404,
    body: undefined as unknown,
    set(name: string, value: string) {
      headers[name] = value;
    },
  };
  write(ctx as unknown as HotContext);
  return { status: ctx.status, body: ctx.body, headers };
}

const NO_STORE = { "Cache-Control": "no-store", Pragma: "no-cache" };

test("JSON is never cached, and undefined members are omitted", () => {
  expect(written((ctx) => sendJson(ctx, { a: 1, b: undefined }))).toEqual({
    status: 200,
    body: '{"a":1}',
    headers: { ...NO_STORE, "Content-Type": "application/json" },
  });
  expect(written((ctx) => sendJson(ctx, {}, 201)).status).toBe(201);
});

test("a page is neither cached nor framed, and sends no referrer", () => {
  const { headers } = written((ctx) => pageHeaders(ctx));
  expect(headers).toEqual({
    ...NO_STORE,
    "Content-Security-Policy": PAGE_POLICY,
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
  });
  const isolated = (url: string) => "Cross-Origin-Opener-Policy" in written((ctx) => pageHeaders(ctx), { url }).headers;
  expect(
    ["/account", "/login?request=a", "/console?a=/login", "/login/code", "/loginx", "/consent", "/account/security/app"].filter(isolated),
  ).toEqual([...["/account", "/console?a=/login", "/loginx"]]);
  expect(written((ctx) => pageHeaders(ctx, "wider")).headers["Content-Security-Policy"]).toBe("wider");
});

test("a redirect is not cached and sends no referrer, and a form is not sent on", () => {
  const redirected = (method: string) => written((ctx) => sendRedirect(Object.assign(ctx, { method }), "/there"));
  expect(redirected("POST")).toEqual({
    status: 303,
    body: "",
    headers: { ...NO_STORE, "Referrer-Policy": "no-referrer", Location: "/there" },
  });
  expect(redirected("GET").status).toBe(302);
});

test("CORS: responses are readable from any origin, and preflight requests are answered", () => {
  const open = { "Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "WWW-Authenticate, Retry-After, DPoP-Nonce" };
  expect(Object.fromEntries(fixedHeaders(true, false))).toEqual({ "X-Content-Type-Options": "nosniff", ...open });
  expect(written((ctx) => answerPreflight(ctx, ["GET", "HEAD"]))).toEqual({
    status: 204,
    body: undefined,
    headers: {
      "Access-Control-Allow-Methods": "GET, HEAD",
      "Access-Control-Allow-Headers": "Authorization, Content-Type, DPoP, MCP-Protocol-Version, *",
      "Access-Control-Max-Age": "600",
    },
  });
});

const document = prepareDocument("body { }", "text/css");

test("a document is sent with its ETag, and no-cache unless it may be cached", () => {
  expect(document.etag).toMatch(/^"[\w-]{27}"$/);
  expect(prepareDocument("another", "text/css").etag).not.toBe(document.etag);
  const sent = { status: 404, body: "body { }", headers: { "Cache-Control": "no-cache", ETag: document.etag, "Content-Type": "text/css" } };
  expect(written((ctx) => sendDocument(ctx, document))).toEqual(sent);
  expect(written((ctx) => sendDocument(ctx, document, "public, max-age=60")).headers["Cache-Control"]).toBe("public, max-age=60");
});

test.for([
  ["its tag", document.etag, 304],
  ["its tag as a weak one", `W/${document.etag}`, 304],
  ["its tag among others", `"other", ${document.etag} `, 304],
  ["*", " * ", 304],
  ["another tag", '"other"', 404],
  ["a tag that ends with the document's", `x${document.etag}`, 404],
  ["a weak mark in another place", `"W/other"`, 404],
] as const)("If-None-Match with %s", ([, held, status]) => {
  const answer = written((ctx) => sendDocument(ctx, document), { headers: { "if-none-match": held } });
  expect([answer.status, answer.body]).toEqual(status === 304 ? [304, undefined] : [status, document.body]);
});

test.for([
  ["/a?b=c", "/a", "b=c"],
  ["/a?b=c?d", "/a", "b=c?d"],
  ["/a", "/a", ""],
  ["/a?", "/a", ""],
  ["?b", "", "b"],
  [undefined, "", ""],
] as const)("the target %s has the path %s and the query %s", ([url, path, query]) => {
  const ctx = { req: { url } } as unknown as HotContext;
  expect([pathText(ctx), queryText(ctx)]).toEqual([path, query]);
});

test("a route has one or several paths", () => {
  expect([pathsOf({ path: "/a" }), pathsOf({ path: ["/a", "/b"] })]).toEqual([["/a"], ["/a", "/b"]]);
});

test("a schema of the API description is created once, at its first use", () => {
  let made = 0;
  const shape = lazily(() => ({ number: ++made }));
  expect(made).toBe(0);
  expect([shape(), shape(), made]).toEqual([{ number: 1 }, { number: 1 }, 1]);
});

test("bodies and errors are described by media type and schema", () => {
  const schema = z.string();
  expect(json("Words.", schema)).toEqual({ description: "Words.", content: { "application/json": { schema } } });
  expect(text("Words.")).toEqual({ description: "Words.", content: { "text/plain": { schema: { type: "string" } } } });
  expect(text("Words.", "text/css").content).toEqual({ "text/css": { schema: { type: "string" } } });
  expect(form(schema)).toEqual({ required: true, content: { "application/x-www-form-urlencoded": { schema } } });
  expect(jsonRequest(schema)).toEqual({ required: true, content: { "application/json": { schema } } });
  expect(Object.keys(oauthErrors())).toEqual(["400", "401", "429", "503"]);
  expect(Object.keys(oauthBodyErrors())).toEqual(["413", "415"]);
  for (const described of Object.values({ ...oauthErrors(), ...oauthBodyErrors() })) {
    expect(described).toEqual({ description: expect.stringMatching(/\.$/), content: { "application/json": { schema: OauthError() } } });
  }
});

test("an OAuth error has a code and an optional description", () => {
  const described = z.toJSONSchema(OauthError()).$defs?.OAuthError;
  expect(described).toMatchObject({
    type: "object",
    required: ["error"],
    properties: { error: { type: "string", example: "invalid_request" }, error_description: { type: "string" } },
  });
});

test("an API error has a status, a message and optional issues", () => {
  const { description, content } = apiError("Words.");
  const described = z.toJSONSchema(content?.["application/json"]?.schema as z.ZodType).$defs?.ApiError;
  expect(description).toBe("Words.");
  expect(described).toMatchObject({
    required: ["statusCode", "error", "message"],
    properties: {
      statusCode: { type: "integer" },
      issues: { items: { properties: { path: { type: "string" }, message: { type: "string" } }, required: ["path", "message"] } },
    },
  });
});

test("shared parameters are described with their unit or format", () => {
  expect(scope().meta()).toEqual({ description: "Space-separated.", example: "openid email" });
  expect([seconds().meta(), secondsSinceEpoch().meta()]).toEqual([
    { description: "Seconds." },
    { description: "Seconds since the epoch." },
  ]);
  expect(resource().meta()).toEqual({ description: "RFC 8707; may be repeated, at most 10 times." });
  expect(resource().safeParse(undefined).success).toBe(true);
  expect(seconds().safeParse(1.5).success).toBe(false);
  const fields = z.object(credentialFields());
  expect([fields.parse({}), fields.parse({ client_id: "a", client_secret: "b" })]).toEqual([{}, { client_id: "a", client_secret: "b" }]);
});
