import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import type { AuditEntry } from "../../../src/audit.ts";
import { inTime } from "../../../src/core/effects.ts";
import type { Core, CorePorts } from "../../../src/core/ports.ts";
import { revocationDigest } from "../../../src/core/revocation.ts";
import { openKeys } from "../../../src/core/signing/key-ring.ts";
import { openMldsaKey } from "../../../src/core/signing/ml-dsa.ts";
import { Refusal } from "../../../src/errors.ts";
import { IntrospectRequestSchema, LoginTokensRequestSchema, TokenRequestSchema } from "../../../src/gen/countersign/token/v1/token_pb.ts";
import { aClient } from "../../support/builders.ts";
import { clocksAt } from "../../support/clock.ts";
import { ask, memoryCore, NOW } from "../../support/memory-core.ts";

describe("effects of a call", () => {
  const entry: AuditEntry = { event: "token.issued", outcome: "success", actor: { type: "client", id: "c" } };
  const effects: readonly [string, (core: Core) => Promise<unknown>][] = [
    ["a code", ({ codes }) => codes.issue("h" as never, "b" as never, 1, entry)],
    ["a redemption", ({ codes }) => codes.redeem("h" as never, "g" as never, undefined, entry)],
    ["a rotation", ({ families }) => families.rotate("i", "f" as never, { hash: "t" as never, ttl: 1 }, entry)],
    ["a refresh token that stays", ({ families }) => families.keep("i", "c" as never, 1, entry)],
    ["the revocation of a family", ({ families }) => families.revoke("i", entry)],
    ["a grant", ({ grants }) => grants.open("g" as never, "f" as never, "s", entry)],
    ["the revocation of a grant", ({ grants }) => grants.revoke("i", entry)],
    ["a delegation", ({ delegations }) => delegations.record("d" as never, entry)],
    ["the audit record of a token", ({ audit }) => audit.recordIssue(entry)],
    ["an accepted assertion", async ({ identityAssertions }) => identityAssertions?.assertions.accept("i" as never, "g" as never, entry)],
  ];
  async function coreWith(databaseNow: () => number | undefined) {
    const accepted: unknown[][] = [];
    const accept = async (...values: unknown[]) => {
      accepted.push(values);
      return "user";
    };
    const identityAssertions = { assertions: { accept } } as unknown as NonNullable<CorePorts["identityAssertions"]>;
    const { ports, writes } = await memoryCore({ ports: () => ({ identityAssertions, clocks: clocksAt(databaseNow) }) });
    return { core: ports as Core, last: () => [...writes.map(([, ...values]) => values), ...accepted].at(-1)?.at(-1) };
  }

  test.for(effects)("carry the deadline of the write: %s", async ([, run]) => {
    const { core, last } = await coreWith(() => NOW);
    await run(inTime(core, { notAfter: NOW + 7 }));
    expect(last()).toEqual({ ...entry, notAfter: NOW + 7 });
    await run(inTime(core, {}));
    expect(last()).toEqual({ ...entry, notAfter: NOW + 2 });
    const unread = await coreWith(() => undefined);
    await run(inTime(unread.core, {}));
    expect(unread.last()).toEqual(entry);
  });

  test.for(effects)("do not start once the caller has left: %s", async ([, run]) => {
    const { core, last } = await coreWith(() => NOW);
    const gone = { code: "temporarily_unavailable", reason: "caller_gone", detail: { retryAfter: 1 } };
    await expect(run(inTime(core, { signal: AbortSignal.abort() }))).rejects.toMatchObject(gone);
    expect(last()).toBeUndefined();
    await run(inTime(core, { signal: new AbortController().signal }));
  });

  test("consuming an identifier carries the deadline, and reads carry none", async () => {
    const { core, last } = await coreWith(() => NOW);
    expect(await inTime(core, { notAfter: NOW }).consumedIds.consume("client_assertion", "c", "j", 60)).toBe(true);
    expect(last()).toBe(NOW);
    expect(await inTime(core, {}).consumedIds.isConsumed("client_assertion", "c", "j")).toBe(false);
    expect(await inTime(core, {}).codes.byHash("h" as never)).toBeUndefined();
    expect(await inTime(core, {}).families.holding("h" as never)).toBeUndefined();
    expect(await inTime(core, {}).audit.refusalOf("r")).toBeUndefined();
  });

  test("are refused when the deadline of the call has passed", async () => {
    const { core } = await coreWith(() => NOW);
    const passed = { code: "temporarily_unavailable", reason: "deadline_passed", detail: { retryAfter: 1 } };
    expect(() => inTime(core, { notAfter: NOW - 0.1 })).toThrow(expect.objectContaining(passed));
    const { ports } = await memoryCore();
    expect(inTime(ports as Core, { notAfter: 0 }).identityAssertions).toBeUndefined();
  });
});

describe("hybrid tokens", () => {
  const basic = { basic: { clientId: "notes-app", clientSecret: "the-secret" } };
  const scopes = { grant: { case: "clientCredentials", value: { scope: "notes:read" } } } as const;
  async function hybridCore(selfContained: boolean, full = false) {
    const mldsa = await openMldsaKey(Buffer.alloc(32, 7));
    const assertOpen = () => {
      if (full) throw new Refusal("temporarily_unavailable", "pqc_signing_queue_full");
    };
    const { key } = await memoryCore();
    const keys = await openKeys(
      { accessToken: [key], mldsa: { key: { ...mldsa, assertOpen }, hybrid: true } },
      { publish: async () => [] },
    );
    const kept = new Map<string, { readonly alg: "ML-DSA-65"; readonly signature: Uint8Array }>();
    const detachedSignatures: CorePorts["detachedSignatures"] = {
      keep: async (jti, signature, expiresAt) => {
        expect(expiresAt).toBe(NOW + 900);
        kept.set(jti, signature);
      },
      of: async (jti) => kept.get(jti),
    };
    const firstParty = aClient({ clientId: "countersign" });
    const ports = () => ({ keys, detachedSignatures, selfContained });
    return { ...(await memoryCore({ clients: [aClient(), firstParty], ports })), kept };
  }
  const token = create(TokenRequestSchema, { client: basic, ...scopes });

  test("are returned without the second signature, which introspection returns", async () => {
    const { core, kept } = await hybridCore(false);
    const answer = await ask(core, "token", token);
    const { accessToken = "" } = answer as { accessToken?: string };
    expect(Object.keys(answer).sort()).toEqual(["accessToken", "expiresIn", "scope", "tokenType"]);
    const [detached] = kept.values();
    const introspected = await ask(core, "introspect", create(IntrospectRequestSchema, { client: basic, tokens: [accessToken] }));
    const signature = Buffer.from(detached?.signature ?? []).toString("base64url");
    expect(introspected).toMatchObject({ results: [{ active: true, pqcSignature: signature, pqcAlg: "ML-DSA-65" }] });
    expect(detached?.signature).toHaveLength(3309);
  });

  test("are returned with both signatures when the delivery is self-contained", async () => {
    const { core, kept } = await hybridCore(true);
    const [answer, [detached]] = [await ask(core, "token", token), kept.values()];
    expect(answer).toMatchObject({ pqcAlg: "ML-DSA-65", pqcSignature: Buffer.from(detached?.signature ?? []).toString("base64url") });
  });

  test("are refused before anything is consumed while the signing queue is full", async () => {
    const { core, writes } = await hybridCore(false, true);
    const full = ["temporarily_unavailable", "pqc_signing_queue_full"];
    expect(await ask(core, "token", token)).toEqual(full);
    expect(await ask(core, "loginTokens", create(LoginTokensRequestSchema, { userId: "u", sessionId: "s" }))).toEqual(full);
    expect(writes).toEqual([]);
  });
});

test("a revocation event's digest is the first half of the SHA-256 of its kind and key", () => {
  const hex = (kind: "jti" | "grant", key: string) => Buffer.from(revocationDigest({ kind, key })).toString("hex");
  // From sha256sum of `jti:abc`, and of `grant:` with the id as it appears in the jti of the grant's tokens.
  expect(hex("jti", "abc")).toBe("ba45ec15fb920260deacfed089e818e0");
  expect(hex("grant", "01900000-0000-7000-8000-00000000000d")).toBe("6425d1353a463b34a9ced9fbbf372266");
  expect(hex("jti", "01900000-0000-7000-8000-00000000000d")).not.toBe(hex("grant", "01900000-0000-7000-8000-00000000000d"));
});
