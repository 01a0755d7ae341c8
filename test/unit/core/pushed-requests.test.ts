import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import {
  type AuthorizationRequestSchema,
  IssueCodeRequestSchema,
  OpenPushedRequestRequestSchema,
  PushAuthorizationRequestSchema,
  ValidateAuthorizationRequestSchema,
} from "../../../src/gen/countersign/token/v1/token_pb.ts";
import { authorizationQuery, parseAuthorizationRequest } from "../../../src/protocol/authorization-request.ts";
import { hashSecret } from "../../../src/random.ts";
import { aClient } from "../../support/builders.ts";
import { aProof, proofKey, thumbprintOf } from "../../support/dpop.ts";
import { ask, ISSUER, type MemoryWorld, memoryCore, NOW, type Write } from "../../support/memory-core.ts";

const REDIRECT = "https://app.example.test/cb";
const client = aClient({
  tokenEndpointAuthMethod: "none",
  secretHash: null,
  grantTypes: ["authorization_code"],
  redirectUris: [REDIRECT],
  scopes: ["notes:read"],
});
const URN = /^urn:ietf:params:oauth:request_uri:[A-Za-z0-9_-]{43}$/;

type Request = MessageInitShape<typeof AuthorizationRequestSchema>;

const aRequest = (members: Request = {}): Request => ({
  clientId: client.clientId,
  redirectUri: REDIRECT,
  responseType: "code",
  codeChallenge: "c".repeat(43),
  codeChallengeMethod: "S256",
  scope: "notes:read",
  ...members,
});

async function push(request: Request, proof?: string, world: MemoryWorld = { clients: [client] }) {
  const { core, writes } = await memoryCore(world);
  const url = `${ISSUER}/oauth/par`;
  const dpop = proof === undefined ? {} : { dpop: { proof, htm: "POST", htu: url } };
  const answer = await ask(
    core,
    "pushAuthorization",
    create(PushAuthorizationRequestSchema, { client: { clientId: client.clientId, ...dpop }, request }),
  );
  return { answer, writes: writes.filter(([method]) => method !== "log") };
}

const methods = (writes: readonly Write[]) => writes.map(([method]) => method);

describe("a pushed request", () => {
  test("is stored by the hash of the request_uri that is returned", async () => {
    const { answer, writes } = await push(aRequest({ state: "st", resource: ["https://crm.example.test/mcp"] }));
    const { requestUri = "" } = answer as { requestUri?: string };
    expect(answer).toEqual({ requestUri: expect.stringMatching(URN), expiresIn: 90 });
    const [[, hash, clientId, query, ttl] = []] = writes;
    expect([methods(writes), hash, clientId, ttl]).toEqual([["pushed.put"], hashSecret(requestUri), client.clientId, 90]);
    expect(parseAuthorizationRequest(String(query))).toMatchObject(aRequest({ state: "st", resource: ["https://crm.example.test/mcp"] }));
    expect(String(query)).not.toContain(requestUri);
  });

  test.for<[string, Request, readonly [string, string]]>([
    ["a redirect URI of another client", { redirectUri: "https://evil.example.test/" }, ["invalid_request", "redirect_uri_not_registered"]],
    ["no redirect URI", { redirectUri: "" }, ["invalid_request", "redirect_uri_missing"]],
    ["a repeated redirect URI", { repeatedParameters: ["redirect_uri"] }, ["invalid_request", "parameter_repeated"]],
    ["a request_uri", { unsupportedParameters: ["request_uri"] }, ["invalid_request", "request_uri_pushed"]],
    ["a request object", { unsupportedParameters: ["request"] }, ["request_not_supported", "request_not_supported"]],
    ["a scope outside of its allowlist", { scope: "bank:write" }, ["invalid_scope", "no_scope_left"]],
  ])("with %s is refused, and nothing is written, not even for its proof", async ([, members, refusal]) => {
    const proof = aProof(proofKey(), { url: `${ISSUER}/oauth/par`, claims: { iat: NOW } });
    const { answer, writes } = await push(aRequest(members), proof);
    expect([answer, writes]).toEqual([refusal, []]);
  });

  test("RFC 9449 §10.1: is bound to the key of its proof, which is used up", async () => {
    const key = proofKey();
    const proof = aProof(key, { url: `${ISSUER}/oauth/par`, claims: { iat: NOW } });
    const { writes } = await push(aRequest(), proof);
    expect(methods(writes)).toEqual(["consume", "pushed.put"]);
    expect(parseAuthorizationRequest(String(writes[1]?.[3])).dpopJkt).toBe(thumbprintOf(key));
    const { answer, writes: none } = await push(aRequest({ dpopJkt: "k".repeat(43) }), proof);
    expect([answer, none]).toEqual([["invalid_dpop_proof", "dpop_key_differs"], []]);
    const { answer: same } = await push(aRequest({ dpopJkt: thumbprintOf(key) }), proof);
    expect(same).toEqual({ requestUri: expect.stringMatching(URN), expiresIn: 90 });
  });

  test("that contains a request_uri is refused with the reason", async () => {
    const { core } = await memoryCore({ clients: [client] });
    const request = aRequest({ unsupportedParameters: ["request_uri"] });
    const call = core.pushAuthorization(create(PushAuthorizationRequestSchema, { client: { clientId: client.clientId }, request }), {});
    await expect(call).rejects.toMatchObject({ detail: { description: "request_uri cannot be pushed." } });
  });
});

describe("a pushed request in a browser", () => {
  const requestUri = "urn:ietf:params:oauth:request_uri:x";

  /** Pushes a request, and opens what was stored; another browser has the name `other`. */
  async function pushAndOpen(uiLocales: string | undefined, browser: string) {
    const opened: unknown[] = [];
    let stored: string | undefined;
    const { core } = await memoryCore({
      clients: [client],
      ports: ({ pushedRequests }) => ({
        pushedRequests: {
          ...pushedRequests,
          async put(_hash, _clientId, query) {
            stored = query;
          },
          async open(...values) {
            opened.push(values);
            return browser === "other" ? undefined : stored;
          },
        },
      }),
    });
    const message = { client: { clientId: client.clientId }, request: aRequest({ state: "st" }), ...(uiLocales && { uiLocales }) };
    await ask(core, "pushAuthorization", create(PushAuthorizationRequestSchema, message));
    const open = create(OpenPushedRequestRequestSchema, { clientId: client.clientId, requestUri, browser });
    return { answer: await ask(core, "openPushedRequest", open), opened };
  }

  test("is opened by its hash for a day, with the languages of its pages", async () => {
    const { answer, opened } = await pushAndOpen("de-AT en", "b1");
    expect(opened).toEqual([[hashSecret(requestUri), client.clientId, "b1", 86_400]]);
    expect(answer).toMatchObject({ request: { ...aRequest({ state: "st" }), pushedRequest: requestUri }, uiLocales: "de-AT en" });
    expect((await pushAndOpen(undefined, "b1")).answer).not.toHaveProperty("uiLocales");
  });

  test("is not found where the store does not open it", async () => {
    expect((await pushAndOpen(undefined, "other")).answer).toEqual(["not_found", "pushed_request_unknown"]);
  });
});

describe("what a front says beside a pushed request", () => {
  const query = authorizationQuery(aRequest());
  const world = (opened: { query: string; isUsed: boolean } | undefined): MemoryWorld => ({
    clients: [{ ...client, requirePushedAuthorizationRequests: true }],
    ports: ({ pushedRequests }) => ({ pushedRequests: { ...pushedRequests, opened: async () => opened } }),
  });
  const named = { clientId: client.clientId, pushedRequest: "urn:x", scope: "bank:write", redirectUri: "https://evil.example.test/" };

  test("is ignored: the core reads its own record", async () => {
    const { core } = await memoryCore(world({ query, isUsed: false }));
    const valid = await ask(core, "validateAuthorization", create(ValidateAuthorizationRequestSchema, { request: named }));
    expect(valid).toMatchObject({ outcome: { case: "authorization", value: { scopes: ["notes:read"] } } });
  });

  test("gives a code that uses the request up", async () => {
    const { core, writes } = await memoryCore(world({ query, isUsed: false }));
    await ask(core, "issueCode", create(IssueCodeRequestSchema, { request: named, userId: "u", sessionId: "s" }));
    const [[, , binding] = []] = writes.filter(([method]) => method === "code.issue");
    expect(binding).toMatchObject({ redirectUri: REDIRECT, scopes: ["notes:read"], pushedRequest: hashSecret("urn:x") });
  });

  test.for([
    [true, "not_found", "pushed_request_over"],
    [false, "access_denied", "consent_or_session_not_live"],
  ] as const)("is over where it has led to another code: %s", async ([isUsed, ...refusal]) => {
    const { core } = await memoryCore({ ...world({ query, isUsed }), succeeds: false });
    const issue = create(IssueCodeRequestSchema, { request: named, userId: "u", sessionId: "s" });
    expect(await ask(core, "issueCode", issue)).toEqual(refusal);
  });

  test("gives nothing once the request is over, or was never pushed", async () => {
    const { core } = await memoryCore(world(undefined));
    const over = await ask(core, "validateAuthorization", create(ValidateAuthorizationRequestSchema, { request: named }));
    expect(over).toEqual(["not_found", "pushed_request_over"]);
    await expect(core.issueCode(create(IssueCodeRequestSchema, { request: named }), {})).rejects.toMatchObject({
      detail: { description: "This request has expired." },
    });
    const plain = await ask(core, "issueCode", create(IssueCodeRequestSchema, { request: aRequest(), userId: "u", sessionId: "s" }));
    expect(plain).toEqual(["invalid_request", "request_not_pushed"]);
  });
});
