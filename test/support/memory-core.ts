import { generateKeyPairSync } from "node:crypto";
import type { Client } from "../../src/clients/client.ts";
import type { CallContext, CorePorts, FamilyState, TokenCoreImplementation } from "../../src/core/ports.ts";
import { tokenCore } from "../../src/core/service.ts";
import { signJwt, type TokenType } from "../../src/core/signing/jws.ts";
import { openKeys } from "../../src/core/signing/key-ring.ts";
import { signingKey } from "../../src/core/signing/keys.ts";
import type { CodeState, DeviceState } from "../../src/core/stored-grants.ts";
import type { Refusal } from "../../src/errors.ts";
import { parseJwt } from "../../src/protocol/jws.ts";
import { aClient, aTokenState } from "./builders.ts";
import { NO_WORKLOADS } from "./workloads.ts";

export const ISSUER = "https://issuer.example.test";
/** Seconds since the epoch, by every clock of these tests. */
export const NOW = 1000;

const key = signingKey(generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString());

/** A token with these claims, signed by the core of `memoryCore`. */
export const tokenOf = (claims: object, type: TokenType = "at+jwt"): Promise<string> => signJwt(claims, type, key);

/** A write of the core: the port's method, then its arguments. */
export type Write = readonly [method: string, ...arguments_: unknown[]];

export interface MemoryWorld {
  readonly clients?: readonly Client[];
  readonly code?: CodeState | undefined;
  readonly device?: DeviceState | undefined;
  readonly family?: FamilyState | undefined;
  /** Whether conditional writes succeed. */
  readonly succeeds?: boolean;
  /** Replaces ports of the core. @param ports the ports to replace */
  readonly ports?: (ports: CorePorts) => Partial<CorePorts>;
}

/**
 * A token core over ports in memory, which return what the test sets and record the core's writes. Its clock stands still, and its random
 * bytes are 1, 2, 3 and so on, each repeated.
 */
export async function memoryCore({ clients = [aClient()], code, device, family, succeeds = true, ports: others }: MemoryWorld = {}) {
  const writes: Write[] = [];
  const write =
    <Answer>(method: string, answer: Answer) =>
    async (...values: unknown[]): Promise<Answer> => {
      writes.push([method, ...values]);
      return answer;
    };
  let draws = 0;
  const simple: CorePorts = {
    issuer: ISSUER,
    lifetimes: {
      accessToken: 900,
      idToken: 600,
      refreshToken: 86_400,
      refreshFamilyMax: 864_000,
      refreshReuseGrace: 0,
      authorizationCode: 60,
    },
    clock: () => NOW,
    effectWindow: 2,
    randomBytes: (size) => Buffer.alloc(size, ++draws),
    keys: await openKeys({ accessToken: [key] }, { publish: async () => [] }),
    clients: { byClientId: async (clientId) => clients.find((client) => client.clientId === clientId) },
    resources: { of: async () => [] },
    resourceDiscovery: undefined,
    requireKnownResources: false,
    apiKeys: { byHash: async () => undefined },
    documents: undefined,
    assertionAudiences: [ISSUER],
    remoteKeys: { current: async () => [], refreshed: async () => [] },
    documentKeys: { current: async () => [], refreshed: async () => [] },
    workloads: NO_WORKLOADS,
    consumedIds: { consume: write("consume", succeeds), isConsumed: async () => false },
    logoutSubscriptions: { subscribe: write("subscribe", undefined) },
    codes: { issue: write("code.issue", succeeds), byHash: async () => code, redeem: write("code.redeem", succeeds) },
    pushedRequests: { put: write("pushed.put", undefined), open: async () => undefined, opened: async () => undefined },
    requirePushedRequests: false,
    devices: {
      open: write("device.open", succeeds),
      byDeviceCode: async () => device,
      byId: async () => device,
      pendingByUserCode: async () => device?.id,
      poll: write("device.poll", false),
      deny: write("device.deny", succeeds),
    },
    families: {
      holding: async () => family,
      rotate: write("family.rotate", succeeds),
      keep: write("family.keep", succeeds),
      revoke: write("family.revoke", undefined),
    },
    grants: { open: write("grant.open", succeeds), revoke: write("grant.revoke", undefined) },
    tokens: { of: async () => aTokenState(), revoke: write("token.revoke", undefined) },
    detachedSignatures: { keep: write("signature.keep", undefined), of: async () => undefined },
    selfContained: false,
    delegations: { record: write("delegation.record", succeeds) },
    identityAssertions: undefined,
    consents: { of: async () => undefined },
    throttle: { assertOpen: () => undefined, failed: write("throttle.failed", undefined) },
    audit: {
      record: write("audit.record", undefined),
      recordIssue: write("audit.recordIssue", undefined),
      recordUnproven: write("audit.recordUnproven", undefined),
      refusalOf: async () => undefined,
    },
    log: { info: (event, fields) => void writes.push(["log", event, fields]) },
  };
  const ports = { ...simple, ...others?.(simple) };
  return { core: tokenCore(ports), ports, writes, key };
}

type Method = keyof TokenCoreImplementation;

/** The response of a core's call, or the code and reason of its refusal. */
async function answerOf<Answer>(call: Promise<Answer>): Promise<Answer | readonly [code: string, reason: string]> {
  return call.catch((error: Refusal) => {
    if (error.reason === undefined) throw error;
    return [error.code, error.reason] as const;
  });
}

/** Calls one method of a core as a front does. */
export const ask = <M extends Method>(core: TokenCoreImplementation, method: M, request: unknown, context: CallContext = {}) =>
  answerOf((core[method] as (request: unknown, context: CallContext) => ReturnType<TokenCoreImplementation[M]>)(request, context));

/** The type and the claims of a token that the core signed. */
export function claimsOf(token: string): Readonly<Record<string, unknown>> {
  const parsed = parseJwt(token);
  return { typ: parsed?.header.typ, ...parsed?.claims };
}
