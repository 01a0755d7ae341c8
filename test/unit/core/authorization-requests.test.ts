import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { consentFingerprint } from "../../../src/core/policy/consent.ts";
import type { ConsentView } from "../../../src/core/ports.ts";
import { Refusal } from "../../../src/errors.ts";
import {
  AuthorizationRequestSchema,
  ExplainRequestSchema,
  IssueCodeRequestSchema,
  ResolveClientRequestSchema,
  ValidateAuthorizationRequestSchema,
  Verdict,
} from "../../../src/gen/countersign/token/v1/token_pb.ts";
import { hashSecret } from "../../../src/random.ts";
import { aClient, aSubject, CHALLENGE, someTerms } from "../../support/builders.ts";
import { clocksAt } from "../../support/clock.ts";
import { ask, ISSUER, type MemoryWorld, memoryCore, tokenOf } from "../../support/memory-core.ts";

const USER = aSubject().userId;
const REDIRECT = "https://notes.example.test/cb";
const MCP = "https://notes.example.test/mcp";

type RequestInit = MessageInitShape<typeof AuthorizationRequestSchema>;

const sent = {
  clientId: "notes-app",
  redirectUri: REDIRECT,
  responseType: "code",
  codeChallenge: CHALLENGE,
  codeChallengeMethod: "S256",
  scope: "openid notes:read",
  resource: [MCP],
};
const requestWith = (members: object) => create(AuthorizationRequestSchema, { ...sent, ...members } as RequestInit);

interface Asked {
  readonly userId?: string;
  readonly session?: { readonly id: string; readonly authTime: number };
}

/** Validates a request as the front does. */
async function validate(members: object = {}, asked: Asked = {}, world: MemoryWorld = {}) {
  const { core, writes } = await memoryCore(world);
  const message = { request: requestWith(members), requestId: "r1", address: "192.0.2.1", ...asked };
  const answer = await ask(core, "validateAuthorization", create(ValidateAuthorizationRequestSchema, message));
  return { answer, writes, outcome: "outcome" in answer ? answer.outcome : undefined };
}

const consented = (view: ConsentView | undefined, asked: unknown[] = []) => ({
  consents: {
    async of(...question: unknown[]) {
      asked.push(question);
      return view;
    },
  },
});
const ALL: ConsentView = { scopes: ["openid", "notes:read"], allowed: { [MCP]: ["openid", "notes:read"] } };
const document = aClient({
  clientId: "https://app.example.test/client.json",
  origin: "metadata_document",
  environment: null,
  tokenEndpointAuthMethod: "none",
  secretHash: null,
});
const documents = () => ({ documents: { byUrl: async () => document } });

describe("a valid authorization request", () => {
  const authorization = {
    client: { clientId: "notes-app", name: "Notes", openRegistration: false, environment: "production" },
    scopes: ["openid", "notes:read"],
    resources: [MCP],
    consentRequired: true,
    newScopes: ["openid", "notes:read"],
    newResources: [MCP],
    prompt: [],
    lifetimes: { accessToken: 900, refreshToken: 86_400, refreshFamilyMax: 864_000 },
    resourceClients: [],
  };

  test("returns what it would grant and what needs consent", async () => {
    expect((await validate()).outcome).toEqual({ case: "authorization", value: authorization });
  });

  test("compares with the consent of the signed-in user", async () => {
    const asked: unknown[] = [];
    const { outcome } = await validate({}, { userId: USER }, { ports: () => consented(ALL, asked) });
    expect(outcome?.value).toEqual({ ...authorization, consentRequired: false, newScopes: [], newResources: [] });
    expect(asked).toEqual([[USER, "notes-app", undefined]]);
    const part = { scopes: ["openid"], allowed: { "": ["openid"] } };
    const some = await validate({}, { userId: USER }, { ports: () => consented(part) });
    expect(some.outcome?.value).toEqual({ ...authorization, newScopes: ["notes:read"] });
    const again = await validate({ prompt: "login consent" }, { userId: USER }, { ports: () => consented(ALL) });
    expect(again.outcome?.value).toMatchObject({ consentRequired: true, prompt: ["login", "consent"], newScopes: [] });
  });

  test("returns the hints of the request", async () => {
    const idTokenHint = await tokenOf({ iss: ISSUER, sub: "someone", aud: "notes-app" }, "JWT");
    const { outcome } = await validate({ maxAge: "60", loginHint: "ada", idTokenHint });
    expect(outcome?.value).toEqual({ ...authorization, maxAge: 60, loginHint: "ada", hintedSub: "someone" });
  });

  test("returns the strictest sign-in that request and resources demand", async () => {
    const stepUps = { "notes:read": { acr: "phr", maxAge: 30 } } as const;
    const world = { ports: () => ({ resources: { of: async () => [someTerms({ resource: MCP, scopeNames: ["notes:read"], stepUps })] } }) };
    expect((await validate({ maxAge: "60", acrValues: "urn:countersign:mfa" }, {}, world)).outcome?.value).toMatchObject({
      ...{ maxAge: 30, requiredAcr: "phr", acrValues: ["urn:countersign:mfa"] },
    });
    expect((await validate({ maxAge: "20" }, {}, world)).outcome?.value).toMatchObject({ maxAge: 20 });
  });

  test("names the clients among the resources, and no refresh token lifetime to a client without that grant", async () => {
    const agent = aClient({ clientId: "agent", name: "Agent", isAgent: true });
    const client = aClient({ grantTypes: ["authorization_code"] });
    const { outcome } = await validate({ resource: ["agent", MCP] }, {}, { clients: [client, agent] });
    expect(outcome?.value).toMatchObject({ resourceClients: [{ clientId: "agent", name: "Agent", agent: true }] });
    expect(outcome?.value).toHaveProperty("lifetimes", { accessToken: 900 });
  });

  test("returns whether the client registered dynamically, and the verified host of a metadata document", async () => {
    const open = await validate({}, {}, { clients: [aClient({ origin: "dynamic", environment: null })] });
    expect(open.outcome?.value).toHaveProperty("client", { clientId: "notes-app", name: "Notes", openRegistration: true });
    const { clientId } = document;
    const asked: unknown[] = [];
    const ports = () => ({ ...documents(), ...consented(ALL, asked) });
    const { outcome } = await validate({ clientId }, { userId: USER, session: { id: "s1", authTime: 950 } }, { ports });
    expect(outcome?.value).toMatchObject({ client: { clientId, verifiedHost: "app.example.test" }, consentRequired: false });
    expect(asked).toEqual([[USER, clientId, consentFingerprint(document)]]);
  });

  test("logs the scopes that the client is not allowed", async () => {
    const resource = "https://notes.example.test/mcp";
    const record = (scope: string) => [
      "log",
      "scope_dropped",
      { clientId: "notes-app", resource, scope, rule: "scope_allowed", requestId: "r1" },
    ];
    const { outcome, writes } = await validate({ scope: "openid admin root" });
    expect([outcome?.value, writes]).toEqual([expect.objectContaining({ scopes: ["openid"] }), [record("admin root")]]);
    const none = await validate({ scope: "admin" });
    expect([none.outcome, none.writes]).toEqual([
      { case: "error", value: { error: "invalid_scope", errorDescription: "The client may have none of these scopes." } },
      [record("admin")],
    ]);
    expect((await validate({ responseType: "token", scope: "openid admin" })).writes).toEqual([]);
    const anywhere = await validate({ scope: "openid admin", resource: [] });
    expect(anywhere.writes[0]?.[2]).not.toHaveProperty("resource");
    const both = await validate({ scope: "openid admin", resource: [MCP, "https://mail.example.test"] });
    expect(both.writes[0]?.[2]).toMatchObject({ resource: `${MCP} https://mail.example.test` });
  });
});

/** Issues a code for a request that the user has consented to. */
async function issue(members: object = {}, world: MemoryWorld = {}, request: object = {}) {
  const { core, writes } = await memoryCore(world);
  const message = { request: requestWith(request), userId: USER, sessionId: "s1", authTime: 950, requestId: "r1", address: "192.0.2.1" };
  return { answer: await ask(core, "issueCode", create(IssueCodeRequestSchema, { ...message, ...members })), writes };
}

describe("a code of the console", () => {
  const consoleClient = aClient({ clientId: "countersign-console", redirectUris: [REDIRECT] });
  test.for<readonly [string, string | undefined]>([
    [`${ISSUER}/console/callback`, undefined],
    [REDIRECT, "redirect_uri_not_registered"],
    ["http://127.0.0.1:8080/console/callback", "redirect_uri_not_registered"],
  ])("is sent to the console alone: %s", async ([redirectUri, reason]) => {
    const { answer } = await validate({ clientId: consoleClient.clientId, redirectUri, resource: [] }, {}, { clients: [consoleClient] });
    if (reason === undefined) expect(answer).toMatchObject({ outcome: { case: "authorization" } });
    else expect(answer).toEqual(["invalid_request", reason]);
  });
});

describe("the records of the requested resources", () => {
  async function lookedUp(resource: readonly string[], members: object = {}) {
    const asked: unknown[] = [];
    const of = async (...question: unknown[]) => {
      asked.push(question);
      throw new Refusal("temporarily_unavailable", "database_gone");
    };
    const { answer } = await validate({ resource, ...members }, {}, { ports: () => ({ resources: { of } }) });
    return { answer, asked };
  }

  test("are read for its URIs, and for no more than a request may name", async () => {
    expect((await lookedUp(["agent", MCP])).asked).toEqual([[aClient().realmId, [MCP]]]);
    const many = Array.from({ length: 11 }, (_, n) => `https://${n}.example.test`);
    expect((await lookedUp(many)).asked).toEqual([[aClient().realmId, many.slice(0, 10)]]);
    expect((await lookedUp(["agent"])).asked).toEqual([]);
  });

  test("may be out of reach for a request that is refused for its form", async () => {
    const { answer } = await lookedUp([MCP], { responseMode: "fragment" });
    expect(answer).toMatchObject({ outcome: { case: "error", value: { errorDescription: "response_mode must be query." } } });
  });
});

describe("a code without interaction", () => {
  const session = { id: "s1", authTime: 950 };
  const signedIn = { userId: USER, session };

  test("is issued to a signed-in user and bound to the request", async () => {
    const { outcome, writes } = await validate({ nonce: "n-1" }, signedIn);
    expect(outcome).toEqual({ case: "code", value: expect.stringMatching(/^[\w-]{43}$/) });
    expect(writes).toEqual([
      [
        "code.issue",
        hashSecret(String(outcome?.value)),
        {
          clientId: "notes-app",
          redirectUri: REDIRECT,
          codeChallenge: CHALLENGE,
          scopes: ["openid", "notes:read"],
          resources: [MCP],
          nonce: "n-1",
          userId: USER,
          sessionId: "s1",
          authTime: 950,
        },
        60,
        {
          event: "code.issued",
          outcome: "success",
          actor: { type: "user", id: USER },
          userId: USER,
          clientId: "notes-app",
          scope: "openid notes:read",
          resources: [MCP],
          requestId: "r1",
        },
      ],
    ]);
  });

  test.for<readonly [string, object, Asked, MemoryWorld]>([
    ["without a session", {}, { userId: USER }, {}],
    ["without a user", {}, { session }, {}],
    ["while the clocks disagree", {}, signedIn, { ports: () => ({ clocks: clocksAt(() => undefined, { isTrue: () => false }) }) }],
    ["that requires a new sign-in", { prompt: "login" }, signedIn, {}],
    ["with max_age", { maxAge: "60" }, signedIn, {}],
    ["of a metadata document's client", { clientId: document.clientId }, signedIn, { ports: documents }],
  ])("is not issued to a request %s", async ([, members, asked, world]) => {
    const { outcome, writes } = await validate(members, asked, world);
    expect([outcome?.case, writes]).toEqual(["authorization", []]);
  });

  test("is issued while the clocks agree, and to the user of the id_token_hint", async () => {
    const clocks = clocksAt(() => undefined);
    expect((await validate({ prompt: "none" }, signedIn, { ports: () => ({ clocks }) })).outcome?.case).toBe("code");
    const hintAt = (sub: string) => tokenOf({ iss: ISSUER, sub, aud: "notes-app" }, "JWT");
    expect((await validate({ idTokenHint: await hintAt(USER) }, signedIn)).outcome?.case).toBe("code");
    expect((await validate({ idTokenHint: await hintAt("another") }, signedIn)).outcome?.case).toBe("authorization");
  });

  test("is bound to the key of dpop_jkt, and says what the request demanded of the sign-in", async () => {
    const bindingOf = async (members: object, world: MemoryWorld = {}) => (await issue({}, world, members)).writes[0]?.[2];
    expect(await bindingOf({ dpopJkt: CHALLENGE })).toMatchObject({ dpopJkt: CHALLENGE });
    expect(await bindingOf({ acrValues: "phr unknown" })).toMatchObject({ stated: { requested: ["phr"], inIdToken: true } });
    expect(await bindingOf({ maxAge: "60" })).toMatchObject({ stated: { requested: [], inIdToken: false } });
    const demand = { acr: "phr", maxAge: 30 } as const;
    const terms = [someTerms({ resource: MCP, scopeNames: ["notes:read"], stepUps: { "notes:read": demand } })];
    const demanded = await bindingOf({}, { ports: () => ({ resources: { of: async () => terms } }) });
    expect(demanded).toMatchObject({ demand, stated: { requested: [], inIdToken: false } });
    for (const member of ["dpopJkt", "stated", "demand"]) expect(await bindingOf({})).not.toHaveProperty(member);
  });

  test("is not returned when it cannot be stored; the request then needs interaction", async () => {
    expect((await validate({}, signedIn, { succeeds: false })).outcome?.case).toBe("authorization");
  });
});

describe("a request that is refused", () => {
  test.for<readonly [string, object, MemoryWorld, readonly string[]]>([
    ["a repeated client_id", { repeatedParameters: ["client_id"] }, {}, ["invalid_request", "parameter_repeated"]],
    ["a repeated redirect_uri", { repeatedParameters: ["redirect_uri"] }, {}, ["invalid_request", "parameter_repeated"]],
    ["no client_id", { clientId: "" }, {}, ["invalid_request", "client_not_named"]],
    ["an unknown client", { clientId: "unknown" }, {}, ["invalid_client", "client_unknown"]],
    ["a disabled client", {}, { clients: [aClient({ enabled: false })] }, ["invalid_client", "client_unknown"]],
    ["no redirect_uri", { redirectUri: "" }, {}, ["invalid_request", "redirect_uri_missing"]],
    ["an unregistered redirect_uri", { redirectUri: `${REDIRECT}/` }, {}, ["invalid_request", "redirect_uri_not_registered"]],
    [
      "a redirect_uri that the environment does not permit",
      { redirectUri: "http://notes.example.test/cb" },
      { clients: [aClient({ redirectUris: ["http://notes.example.test/cb"] })] },
      ["invalid_request", "redirect_uri_not_permitted"],
    ],
    [
      "an outage of the database",
      {},
      { ports: () => ({ consents: { of: () => Promise.reject(new Refusal("temporarily_unavailable", "database_gone")) } }) },
      ["temporarily_unavailable", "database_gone"],
    ],
  ])("is answered without a redirect for %s", async ([, members, world, refusal]) =>
    expect((await validate(members, { userId: USER }, world)).answer).toEqual(refusal),
  );

  const error = (code: string, description: unknown = expect.any(String)) => ({
    case: "error",
    value: { error: code, errorDescription: description },
  });
  test.for<readonly [string, object, object]>([
    ["a repeated parameter", { repeatedParameters: ["scope"] }, error("invalid_request", "A parameter was sent more than once.")],
    ["a parameter that is too long", { state: "x".repeat(3000) }, error("invalid_request", expect.stringContaining("too long"))],
    [
      "request",
      { unsupportedParameters: ["request"] },
      error("request_not_supported", "request is not supported; send the parameters themselves."),
    ],
    ["request_uri", { unsupportedParameters: ["request_uri"] }, error("request_uri_not_supported")],
    ["registration", { unsupportedParameters: ["registration"] }, error("registration_not_supported")],
    ["another response_mode", { responseMode: "fragment" }, error("invalid_request", "response_mode must be query.")],
    ["no response_type", { responseType: undefined }, error("invalid_request", "response_type is missing.")],
    ["another response_type", { responseType: "token" }, error("unsupported_response_type", "response_type must be code.")],
    [
      "another response_type with its response_mode",
      { responseType: "id_token", responseMode: "form_post" },
      error("unsupported_response_type", "response_type must be code."),
    ],
    ["no code_challenge", { codeChallenge: undefined }, error("invalid_request", "code_challenge is missing: PKCE is required.")],
    ["a malformed code_challenge", { codeChallenge: "short" }, error("invalid_request", expect.stringContaining("43 base64url"))],
    ["no code_challenge_method", { codeChallengeMethod: undefined }, error("invalid_request", "code_challenge_method must be S256.")],
    ["code_challenge_method plain", { codeChallengeMethod: "plain" }, error("invalid_request", "code_challenge_method must be S256.")],
    ["an invalid resource", { resource: ["unknown"] }, error("invalid_target")],
    ["the issuer as resource without clients:manage", { resource: [ISSUER] }, error("invalid_target")],
    ["prompt none with others", { prompt: "none login" }, error("invalid_request", "prompt=none cannot be combined with other values.")],
    ["max_age that is not a number", { maxAge: "1 day" }, error("invalid_request", "max_age must be a number of seconds.")],
    ["max_age after a line break", { maxAge: "\n60" }, error("invalid_request", "max_age must be a number of seconds.")],
    ["max_age with too many digits", { maxAge: "1".repeat(10) }, error("invalid_request")],
    ["a foreign id_token_hint", { idTokenHint: "text" }, error("invalid_request", "id_token_hint is not an ID token of this issuer.")],
  ])("is answered by redirect for %s", async ([, members, outcome]) => expect((await validate(members)).outcome).toEqual(outcome));

  test("is answered by redirect when the client is not registered for the grant", async () => {
    const client = aClient({ grantTypes: ["client_credentials"] });
    expect((await validate({}, {}, { clients: [client] })).outcome).toEqual(
      error("unauthorized_client", "The client is not registered for this grant: use one of its grant types."),
    );
  });

  test("accepts response_mode=query, max_age=0 and several prompts", async () => {
    const { outcome } = await validate({ responseMode: "query", maxAge: "0", prompt: " login  select_account " });
    expect(outcome?.value).toMatchObject({ maxAge: 0, prompt: ["login", "select_account"] });
    const manager = aClient({ scopes: ["clients:manage"] });
    const managed = await validate({ scope: "clients:manage", resource: [ISSUER] }, {}, { clients: [manager] });
    expect(managed.outcome?.value).toMatchObject({ resources: [ISSUER] });
  });

  test("is refused when the message contains no request", async () => {
    const { core } = await memoryCore();
    expect(await ask(core, "validateAuthorization", create(ValidateAuthorizationRequestSchema, {}))).toEqual([
      "invalid_request",
      "request_missing",
    ]);
    expect(await ask(core, "issueCode", create(IssueCodeRequestSchema, {}))).toEqual(["invalid_request", "request_missing"]);
  });
});

describe("a code after consent", () => {
  test("is new for each call, and the same for calls with the same decision", async () => {
    const { core, writes } = await memoryCore();
    const call = (decision?: string) =>
      ask(core, "issueCode", create(IssueCodeRequestSchema, { request: requestWith({}), userId: USER, ...(decision && { decision }) }));
    const answers = await Promise.all([call(), call(), call("d1"), call("d1"), call("d2")]);
    const [first, second, third, fourth, fifth] = answers.map((answer) => (answer as { code: string }).code);
    expect(third).toBe(fourth);
    expect(new Set([first, second, third, fifth]).size).toBe(4);
    expect(writes.map(([, hash]) => hash)).toContainEqual(hashSecret(third ?? ""));
    expect(third).toMatch(/^[\w-]{43}$/);
  });

  test("stores the client of a metadata document with its fingerprint", async () => {
    const { writes } = await issue({}, { ports: documents }, { clientId: document.clientId });
    expect(writes[0]?.[2]).toMatchObject({ documentClient: document, clientFingerprint: consentFingerprint(document), nonce: null });
  });

  test("is refused when the consent or the session is not live", async () =>
    expect((await issue({}, { succeeds: false })).answer).toEqual(["access_denied", "consent_or_session_not_live"]));

  test("is refused for an invalid request", async () => {
    expect((await issue({}, {}, { redirectUri: "" })).answer).toEqual(["invalid_request", "redirect_uri_missing"]);
    expect((await issue({}, {}, { responseType: "token" })).answer).toEqual(["unsupported_response_type", "response_type_unsupported"]);
  });
});

test("resolveClient returns a client by its id", async () => {
  const { core } = await memoryCore();
  const resolve = (clientId: string) => ask(core, "resolveClient", create(ResolveClientRequestSchema, { clientId, address: "192.0.2.1" }));
  expect(await resolve("notes-app")).toEqual({
    client: { clientId: "notes-app", name: "Notes", openRegistration: false, environment: "production" },
  });
  expect(await resolve("unknown")).toEqual(["not_found", "client_unknown"]);
});

describe("explain of an authorization request", () => {
  async function explain(members: object = {}, world: MemoryWorld = {}) {
    const { core, writes } = await memoryCore(world);
    const subject = { case: "authorizationRequest" as const, value: requestWith(members) };
    const answer = await ask(core, "explain", create(ExplainRequestSchema, { subject, address: "192.0.2.1" }));
    expect(writes).toEqual([]);
    return answer as Exclude<typeof answer, readonly string[]>;
  }
  const verdicts = ({ rules }: Awaited<ReturnType<typeof explain>>) => rules?.map(({ rule, verdict, reason }) => [rule, verdict, reason]);

  test("returns what a code would grant, and the dropped scopes", async () => {
    const explained = await explain({ scope: "openid notes:read admin" });
    expect(explained).toMatchObject({
      droppedScope: ["admin"],
      granted: {
        scope: "openid notes:read",
        aud: [MCP],
        expiresIn: 900,
        issuedTokenType: "urn:ietf:params:oauth:token-type:access_token",
        refreshToken: true,
        idToken: true,
      },
    });
    expect(verdicts(explained)).toEqual([
      ["client_and_redirect_uri", Verdict.PASSED, undefined],
      ["authorization_form", Verdict.PASSED, undefined],
      ["grant_held", Verdict.PASSED, undefined],
      ["scope_allowed", Verdict.PASSED, undefined],
      ["authorization_parameters", Verdict.PASSED, undefined],
    ]);
    const client = aClient({ grantTypes: ["authorization_code"] });
    expect((await explain({ scope: "notes:read", resource: [] }, { clients: [client] })).granted).toMatchObject({
      aud: ["notes-app"],
      refreshToken: false,
      idToken: false,
    });
  });

  test.for<readonly [string, MemoryWorld, boolean]>([
    [
      "assumes that the request is pushed first where the client demands it",
      { clients: [aClient({ requirePushedAuthorizationRequests: true })] },
      true,
    ],
    ["assumes the same where REQUIRE_PAR demands it", { ports: () => ({ requirePushedRequests: true }) }, true],
    ["does not list the rule otherwise", {}, false],
  ])("%s", async ([, world, assumed]) => {
    const explained = await explain({}, world);
    expect(verdicts(explained)?.filter(([rule]) => rule === "request_pushed")).toEqual(
      assumed ? [["request_pushed", Verdict.TAKEN_FOR_GRANTED, undefined]] : [],
    );
    expect(explained.granted).toMatchObject({ scope: "openid notes:read" });
  });

  test("names the rule that refuses, and grants nothing", async () => {
    const unknown = await explain({ clientId: "unknown" });
    expect([verdicts(unknown), unknown.granted]).toEqual([
      [
        ["client_and_redirect_uri", Verdict.REFUSED, "client_unknown"],
        ["authorization_form", Verdict.NOT_REACHED, undefined],
        ["grant_held", Verdict.NOT_REACHED, undefined],
        ["scope_allowed", Verdict.NOT_REACHED, undefined],
        ["authorization_parameters", Verdict.NOT_REACHED, undefined],
      ],
      undefined,
    ]);
    expect(verdicts(await explain({ scope: "admin" }))?.[3]).toEqual(["scope_allowed", Verdict.REFUSED, "no_scope_left"]);
    expect(verdicts(await explain({ resource: ["x"] }))?.[4]).toEqual([
      "authorization_parameters",
      Verdict.REFUSED,
      "resource_not_allowed",
    ]);
    const unheld = await explain({}, { clients: [aClient({ grantTypes: [] })] });
    expect(verdicts(unheld)?.[2]).toEqual(["grant_held", Verdict.REFUSED, "grant_not_held"]);
  });

  test.for([{ codeChallengeMethod: "plain" }, { responseType: "token" }, { repeatedParameters: ["state"] }, { prompt: "none login" }, {}])(
    "names the refusal that the request gets, where the scope is wrong too: %j",
    async (members) => {
      const asked = { ...members, scope: "admin" };
      const { core } = await memoryCore();
      const message = create(IssueCodeRequestSchema, { request: requestWith(asked), userId: USER });
      const answer = await core.issueCode(message, {}).catch(({ reason }) => reason);
      expect(verdicts(await explain(asked))?.find(([, verdict]) => verdict === Verdict.REFUSED)?.[2]).toBe(answer);
    },
  );
});

describe("descriptions of refused authorization requests", () => {
  const refusalTo = async (members: object, world: MemoryWorld = {}): Promise<unknown> => {
    const { core } = await memoryCore(world);
    const message = create(IssueCodeRequestSchema, { request: requestWith(members), userId: USER });
    return core.issueCode(message, {}).catch((error: unknown) => error);
  };

  test.for<readonly [string, object, string]>([
    ["parameter_repeated", { repeatedParameters: ["client_id"] }, "client_id must be sent once."],
    ["client_not_named", { clientId: "" }, "client_id is missing."],
    ["client_unknown", { clientId: "unknown" }, "This client is not known here."],
    ["redirect_uri_missing", { redirectUri: "" }, "redirect_uri is missing."],
    ["redirect_uri_not_registered", { redirectUri: "https://x.example.test" }, "redirect_uri is not registered for this client."],
    ["parameter_repeated", { repeatedParameters: ["scope"] }, "A parameter was sent more than once."],
    ["parameter_too_long", { state: "x".repeat(3000) }, "state is too long: at most 2048 characters, percent-encoded, are accepted."],
    [
      "request_uri_not_supported",
      { unsupportedParameters: ["request_uri"] },
      "request_uri is not supported; send the parameters themselves.",
    ],
    ["response_mode_unsupported", { responseMode: "fragment" }, "response_mode must be query."],
    ["response_type_missing", { responseType: undefined }, "response_type is missing."],
    ["response_type_unsupported", { responseType: "token" }, "response_type must be code."],
    ["code_challenge_missing", { codeChallenge: undefined }, "code_challenge is missing: PKCE is required."],
    [
      "code_challenge_malformed",
      { codeChallenge: "x" },
      "code_challenge must be 43 base64url characters: the SHA-256 of the code_verifier.",
    ],
    ["code_challenge_method_unsupported", { codeChallengeMethod: "plain" }, "code_challenge_method must be S256."],
    ["dpop_jkt_malformed", { dpopJkt: "x" }, "dpop_jkt must be 43 base64url characters: the SHA-256 thumbprint of the key."],
    ["prompt_none_with_others", { prompt: "none login" }, "prompt=none cannot be combined with other values."],
    ["max_age_malformed", { maxAge: "x" }, "max_age must be a number of seconds."],
    ["id_token_hint_invalid", { idTokenHint: "x" }, "id_token_hint is not an ID token of this issuer."],
  ])("state the reason %s", async ([reason, members, description]) =>
    expect(await refusalTo(members)).toMatchObject({ reason, detail: { description } }),
  );

  test("state that a request has to be pushed first", async () => {
    const refusal = await refusalTo({}, { ports: () => ({ requirePushedRequests: true }) });
    const description = "Push the request to the pushed authorization request endpoint first, and send client_id and request_uri.";
    expect(refusal).toMatchObject({ code: "invalid_request", reason: "request_not_pushed", detail: { description } });
  });

  test("state that the environment does not permit a redirect_uri", async () => {
    const redirectUri = "http://notes.example.test/cb";
    const refusal = await refusalTo({ redirectUri }, { clients: [aClient({ redirectUris: [redirectUri] })] });
    const description = "redirect_uri is not permitted in the environment of this client.";
    expect(refusal).toMatchObject({ reason: "redirect_uri_not_permitted", detail: { description } });
  });
});
