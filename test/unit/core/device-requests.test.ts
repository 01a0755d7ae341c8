import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { decideDevice } from "../../../src/core/grants/device-code/grant.ts";
import type { CodeState, DeviceState } from "../../../src/core/stored-grants.ts";
import {
  AuthorizeDeviceRequestSchema,
  DenyDeviceRequestRequestSchema,
  DeviceCodeGrantSchema,
  ExplainRequestSchema,
  type ExplainResponse,
  FindDeviceRequestRequestSchema,
  IssueCodeRequestSchema,
  TokenRequestSchema,
  ValidateAuthorizationRequestSchema,
  Verdict,
} from "../../../src/gen/countersign/token/v1/token_pb.ts";
import { GRANTS } from "../../../src/protocol/grants.ts";
import { hashSecret, type SecretHash, sameHash } from "../../../src/random.ts";
import { aClient, aCode, aSubject, refusalOf, someTerms } from "../../support/builders.ts";
import { aProof, proofKey, thumbprintOf } from "../../support/dpop.ts";
import { ask, ISSUER, type MemoryWorld, memoryCore, NOW } from "../../support/memory-core.ts";

const { grantType } = GRANTS.deviceCode;
const client = aClient({ grantTypes: [grantType], tokenEndpointAuthMethod: "none", secretHash: null });
const CRM = "https://notes.example.test/mcp";

const aDevice = (members: Partial<DeviceState> = {}): DeviceState => ({
  id: "01900000-0000-7000-8000-0000000000d1",
  deviceCodeHash: hashSecret("device code"),
  clientId: client.clientId,
  scopes: ["notes:read"],
  resources: [CRM],
  address: "192.0.2.1",
  expiresAt: NOW + 1,
  deniedAt: null,
  dpopJkt: null,
  now: NOW,
  ...members,
});

const approved = (members: Partial<CodeState> = {}) => aCode({ redirectUri: "", codeChallenge: "", resources: [CRM], ...members });

const decide = (device: DeviceState | undefined, code?: CodeState, resource: string[] = []) =>
  decideDevice({ device, code }, client, create(DeviceCodeGrantSchema, { deviceCode: "device code", resource }));

describe("decideDevice", () => {
  test.for<[string, DeviceState | undefined, CodeState | undefined, string[], readonly [string, string]]>([
    ["an unknown code", undefined, undefined, [], ["invalid_grant", "device_code_unknown"]],
    ["an authorization code", undefined, approved(), [], ["invalid_grant", "device_code_unknown"]],
    ["another client's code", aDevice({ clientId: "other" }), approved(), [], ["invalid_grant", "device_code_of_another_client"]],
    [
      "a used code, before its expiry",
      aDevice({ expiresAt: NOW - 30 }),
      approved({ grantId: "g" }),
      [],
      ["invalid_grant", "device_code_used"],
    ],
    ["an expired code in its last second", aDevice({ expiresAt: NOW - 30 }), approved(), [], ["expired_token", "device_code_expired"]],
    ["a denied request, also when it was approved too", aDevice({ deniedAt: NOW }), approved(), [], ["access_denied", "device_denied"]],
    ["a disabled user", aDevice(), approved({ subject: aSubject({ enabled: false }) }), [], ["invalid_grant", "user_disabled"]],
    ["a code whose scopes the client has lost", aDevice(), approved({ scopes: ["lost:since"] }), [], ["invalid_scope", "no_scope_left"]],
    ["a resource outside of the request", aDevice(), approved(), ["https://b.example.test"], ["invalid_target", "resource_outside_grant"]],
  ])("refuses %s", ([, device, code, resource, expected]) => {
    expect(refusalOf(() => decide(device, code, resource))).toEqual(expected);
  });

  test.for<[string, string | null, string | undefined, readonly [string, string] | undefined]>([
    ["no proof", "a", undefined, ["invalid_dpop_proof", "dpop_missing"]],
    ["another key", "a", "b", ["invalid_grant", "dpop_key_differs"]],
    ["its key", "a", "a", undefined],
    ["a key, bound to none", null, "b", undefined],
  ])("RFC 9449 §5: a bound device code with %s", ([, dpopJkt, jkt, expected]) => {
    const stored = { device: aDevice({ dpopJkt }), code: undefined, confirmation: jkt === undefined ? undefined : { jkt } };
    const attempt = () => decideDevice(stored, client, create(DeviceCodeGrantSchema, { deviceCode: "device code" }));
    if (expected === undefined) expect(attempt()).toMatchObject({ kind: "pending" });
    else expect(refusalOf(attempt)).toEqual(expected);
  });

  test("reports a request that waits for its user, and why", () => {
    const { refusal, ...rest } = decide(aDevice()) as { refusal: { code: string; reason: string; detail: { rule?: string } } };
    expect(rest).toEqual({ kind: "pending" });
    expect([refusal.code, refusal.reason, refusal.detail.rule]).toEqual(["authorization_pending", "device_undecided", "device_approved"]);
  });

  test("redeems an approved request for its resources, or for the client itself", () => {
    expect(decide(aDevice(), approved())).toMatchObject({ kind: "redeem", audience: [CRM] });
    expect(decide(aDevice({ resources: [] }), approved({ resources: [] }))).toMatchObject({ kind: "redeem", audience: [client.clientId] });
  });

  test("leaves out a scope that the client has lost since the approval", () => {
    expect(decide(aDevice(), approved({ scopes: ["lost:since", "notes:read"] }))).toMatchObject({ code: { scopes: ["notes:read"] } });
  });
});

const asDevice = { clientId: client.clientId, address: "192.0.2.1" };

describe("a device request in the core", () => {
  test("stores only hashes of the codes that it returns", async () => {
    const { core, writes } = await memoryCore({ clients: [client] });
    const answer = await ask(core, "authorizeDevice", create(AuthorizeDeviceRequestSchema, { client: asDevice, scope: "notes:read" }));
    expect(answer).toMatchObject({ expiresIn: 600, interval: 5 });
    const { deviceCode = "", userCode = "" } = answer as { deviceCode?: string; userCode?: string };
    expect(writes).toMatchObject([
      [
        "device.open",
        {
          deviceCodeHash: hashSecret(deviceCode),
          userCodeHash: hashSecret(userCode.replace("-", "")),
          scopes: ["notes:read"],
          address: "192.0.2.1",
          pollInterval: 5,
        },
        600,
      ],
    ]);
    expect(JSON.stringify(writes)).not.toContain(deviceCode);
  });

  test("is refused when its scopes or resources are too long to be stored", async () => {
    const { core, writes } = await memoryCore({ clients: [client] });
    for (const long of [
      { scope: `notes:read ${"x".repeat(4_096)}` },
      { resource: Array.from({ length: 80 }, (_, n) => `${CRM}/${n}/${"x".repeat(20)}`) },
    ])
      expect(await ask(core, "authorizeDevice", create(AuthorizeDeviceRequestSchema, { client: asDevice, ...long }))).toEqual([
        "invalid_request",
        "parameter_too_long",
      ]);
    expect(writes).toEqual([]);
  });

  test("is refused for a while when no free user code is found", async () => {
    const { core, writes } = await memoryCore({ clients: [client], succeeds: false });
    const request = create(AuthorizeDeviceRequestSchema, { client: asDevice });
    await expect(core.authorizeDevice(request, {})).rejects.toMatchObject({
      ...{ code: "temporarily_unavailable", reason: "user_codes_taken", detail: { retryAfter: 1 } },
    });
    expect(writes.map(([method]) => method)).toEqual(["device.open", "device.open", "device.open"]);
  });

  test("keeps the client of a metadata document as it is now", async () => {
    const clientId = "https://app.example.test/client.json";
    const document = { ...client, clientId, origin: "metadata_document" } as const;
    const ports = () => ({ documents: { byUrl: async () => document } });
    const kept = async (named: string, world: MemoryWorld) => {
      const { core, writes } = await memoryCore(world);
      await ask(core, "authorizeDevice", create(AuthorizeDeviceRequestSchema, { client: { ...asDevice, clientId: named } }));
      return writes[0]?.[1];
    };
    expect(await kept(clientId, { clients: [], ports })).toMatchObject({ clientId, documentClient: document });
    expect(await kept(client.clientId, { clients: [client], ports })).not.toHaveProperty("documentClient");
  });

  test("RFC 9449 §5: binds the device code to the key of a proof, which is used up", async () => {
    const key = proofKey();
    const url = `${ISSUER}/oauth/device_authorization`;
    const dpop = { proof: aProof(key, { url, claims: { iat: NOW } }), htm: "POST", htu: url };
    const { core, writes } = await memoryCore({ clients: [client] });
    await ask(core, "authorizeDevice", create(AuthorizeDeviceRequestSchema, { client: { ...asDevice, dpop } }));
    expect(writes.map(([method]) => method)).toEqual(["consume", "device.open"]);
    expect(writes[1]?.[1]).toMatchObject({ dpopJkt: thumbprintOf(key) });
    const unbound = await memoryCore({ clients: [client] });
    await ask(unbound.core, "authorizeDevice", create(AuthorizeDeviceRequestSchema, { client: asDevice }));
    expect(unbound.writes[0]?.[1]).toMatchObject({ dpopJkt: null });
  });

  test.for<readonly [string, object, string | undefined]>([
    ["that it does not get", { scope: "notes:read admin root" }, "admin root"],
    ["of which it gets none", { scope: "admin" }, "admin"],
    ["only where the request is refused for them", { scope: "notes:read admin", resource: ["unknown"] }, undefined],
    ["only where there are any", { scope: "notes:read" }, undefined],
  ])("logs the requested scopes %s", async ([, members, scope]) => {
    const { core, writes } = await memoryCore({ clients: [client] });
    await ask(core, "authorizeDevice", create(AuthorizeDeviceRequestSchema, { client: asDevice, requestId: "r1", ...members }));
    const about = { clientId: client.clientId, scope, rule: "scope_allowed", requestId: "r1" };
    expect(writes.filter(([method]) => method === "log")).toEqual(scope === undefined ? [] : [["log", "scope_dropped", about]]);
  });

  test.for<readonly [text: string, found: string | undefined]>([
    ["BCDF-GHJK", aDevice().id],
    [" bcdf ghjk", aDevice().id],
    ["BCDF-GHJL", undefined],
    ["no user code", undefined],
  ])("is found by its user code: %j", async ([text, found]) => {
    const pendingByUserCode = async (hash: SecretHash) => (sameHash(hash, hashSecret("BCDFGHJK")) ? aDevice().id : undefined);
    const { core } = await memoryCore({ ports: ({ devices }) => ({ devices: { ...devices, pendingByUserCode } }) });
    const answer = await ask(core, "findDeviceRequest", create(FindDeviceRequestRequestSchema, { userCode: text }));
    expect(answer).toEqual(found === undefined ? ["not_found", "user_code_unknown"] : { deviceRequest: found });
  });

  test("is denied by its id", async () => {
    const { core, writes } = await memoryCore();
    expect(await ask(core, "denyDeviceRequest", create(DenyDeviceRequestRequestSchema, { deviceRequest: "d1" }))).toEqual({});
    expect(writes).toEqual([["device.deny", "d1"]]);
  });

  test("is not denied after an approval", async () => {
    const { core } = await memoryCore({ ports: ({ devices }) => ({ devices: { ...devices, deny: async () => false } }) });
    const answer = await ask(core, "denyDeviceRequest", create(DenyDeviceRequestRequestSchema, { deviceRequest: "d1" }));
    expect(answer).toEqual(["conflict", "device_approved_before"]);
  });

  test("leaves no audit record when a device polls before the decision, and slows down one that is too fast", async () => {
    const confidential = aClient({ grantTypes: [grantType] });
    const token = create(TokenRequestSchema, {
      client: { basic: { clientId: "notes-app", clientSecret: "the-secret" }, address: "192.0.2.1" },
      grant: { case: "deviceCode", value: { deviceCode: "device code" } },
    });
    for (const [tooSoon, expected] of [
      [false, ["authorization_pending", "device_undecided"]],
      [true, ["slow_down", "polled_too_soon"]],
    ] as const) {
      const { core, writes } = await memoryCore({
        clients: [confidential],
        device: aDevice(),
        ports: ({ devices }) => ({ devices: { ...devices, poll: async () => tooSoon } }),
      });
      expect(await ask(core, "token", token)).toEqual(expected);
      expect(writes).toEqual([]);
    }
  });

  const redeem = create(TokenRequestSchema, {
    client: { clientId: client.clientId, address: "192.0.2.1" },
    grant: { case: "deviceCode", value: { deviceCode: "device code" } },
  });

  test.for<[string, CodeState | undefined, readonly [string, string, string]]>([
    ["used", approved({ grantId: "g" }), ["invalid_grant", "device_code_used", "device_code_unused"]],
    ["expired", approved(), ["invalid_grant", "device_code_expired", "device_code_unexpired"]],
    ["removed", undefined, ["invalid_grant", "device_code_expired", "device_code_unexpired"]],
  ])("gives nothing for a code that another call has %s in the meantime", async ([, later, expected]) => {
    const reads = [approved(), later];
    const { core } = await memoryCore({
      clients: [client],
      device: aDevice(),
      ports: ({ codes }) => ({ codes: { ...codes, byHash: async () => reads.shift(), redeem: async () => false } }),
    });
    const refused = await core.token(redeem, {}).catch((error) => error);
    expect([refused.code, refused.reason, refused.detail.rule]).toEqual(expected);
  });

  test("answers a client that polls too soon with how much longer to wait, and the rule that it waits for", async () => {
    const ports: MemoryWorld["ports"] = ({ devices }) => ({ devices: { ...devices, poll: async () => true } });
    const { core } = await memoryCore({ clients: [client], device: aDevice(), ports });
    const description = "Wait 5 seconds longer between requests.";
    await expect(core.token(redeem, {})).rejects.toMatchObject({ code: "slow_down", detail: { description, rule: "device_approved" } });
  });

  test("is explained as if its client had proved the key that the code is bound to", async () => {
    const explained = async (code: CodeState | undefined, dpopJkt: string | null = null) => {
      const { core, writes } = await memoryCore({ clients: [client], device: aDevice({ dpopJkt }), code });
      const request = create(ExplainRequestSchema, { subject: { case: "tokenRequest", value: redeem } });
      const { granted, rules } = (await ask(core, "explain", request)) as ExplainResponse;
      expect(writes).toEqual([]);
      return { granted, refused: rules.filter(({ verdict }) => verdict === Verdict.REFUSED).map(({ rule, reason }) => [rule, reason]) };
    };
    expect(await explained(undefined)).toEqual({ granted: undefined, refused: [["device_approved", "device_undecided"]] });
    for (const jkt of [null, "a"])
      expect(await explained(approved(), jkt)).toMatchObject({
        granted: { sub: aSubject().userId, scope: "openid notes:read" },
        refused: [],
      });
  });

  const approve = create(IssueCodeRequestSchema, {
    request: { deviceRequest: aDevice().id },
    userId: aSubject().userId,
    sessionId: "01900000-0000-7000-8000-00000000000b",
    authTime: 900,
    requestId: "r1",
  });

  test("is approved as an authorization code that no redirect URI and no verifier fit", async () => {
    const device = aDevice({ scopes: ["notes:read", "notes:write"], expiresAt: NOW + 90 });
    const { core, writes } = await memoryCore({ clients: [client], device, code: approved() });
    expect(await ask(core, "issueCode", approve)).toEqual({});
    expect(writes).toEqual([
      [
        "code.issue",
        aDevice().deviceCodeHash,
        {
          ...{ clientId: client.clientId, scopes: device.scopes, resources: [CRM], redirectUri: "", codeChallenge: "", nonce: null },
          ...{ userId: aSubject().userId, sessionId: approve.sessionId, authTime: 900 },
        },
        120,
        {
          event: "device.approved",
          outcome: "success",
          actor: { type: "user", id: aSubject().userId },
          userId: aSubject().userId,
          clientId: client.clientId,
          grantType,
          scope: "notes:read notes:write",
          resources: [CRM],
          requestId: "r1",
        },
      ],
    ]);
  });

  test("asks its user for consent, even to what they allowed before, and for the sign-in that its scopes demand", async () => {
    const terms = someTerms({ resource: CRM, stepUps: { "notes:read": { acr: "phr" } } });
    const allowed = { scopes: ["notes:read"], allowed: { [CRM]: ["notes:read"] } };
    const { core } = await memoryCore({
      clients: [client],
      device: aDevice(),
      ports: () => ({ resources: { of: async () => [terms] }, consents: { of: async () => allowed } }),
    });
    const request = create(ValidateAuthorizationRequestSchema, { request: { deviceRequest: aDevice().id }, userId: aSubject().userId });
    expect(await ask(core, "validateAuthorization", request)).toMatchObject({
      outcome: {
        case: "authorization",
        value: {
          ...{ client: { clientId: client.clientId }, scopes: ["notes:read"], resources: [CRM], newScopes: [], newResources: [] },
          ...{ consentRequired: true, prompt: ["consent"], requiredAcr: "phr", device: { address: "192.0.2.1" } },
        },
      },
    });
  });

  test.for<[string, Partial<DeviceState> | undefined, Partial<CodeState> | undefined, boolean, readonly [string, string]]>([
    ["that is unknown", undefined, {}, true, ["expired_token", "device_request_over"]],
    ["whose code is gone at once", {}, undefined, true, ["conflict", "device_not_approved"]],
    ["after its expiry", { expiresAt: NOW }, {}, true, ["expired_token", "device_request_over"]],
    ["after a denial", { deniedAt: NOW }, {}, true, ["expired_token", "device_request_over"]],
    ["of an unknown client", { clientId: "gone" }, {}, true, ["invalid_client", "client_unknown"]],
    ["without consent or session", {}, undefined, false, ["conflict", "device_not_approved"]],
    ["that another user has approved", {}, { userId: "other" }, true, ["conflict", "device_not_approved"]],
  ])("cannot be approved %s", async ([, device, code, succeeds, expected]) => {
    const found = device && aDevice(device);
    const { core } = await memoryCore({ clients: [client], device: found, code: code && approved(code), succeeds });
    expect(await ask(core, "issueCode", approve)).toEqual(expected);
  });
});
