import { generateKeyPairSync, sign } from "node:crypto";
import { readFileSync } from "node:fs";
import { createGuard } from "@countersign/guard";
import { base64url } from "jose";
import { describe, expect, test, vi } from "vitest";
import { importMldsa, readMldsaKeySet } from "../../../guard-sdk/src/ml-dsa.ts";
import { createPqcVerifier, type DetachedSignature, requireHybrid } from "../../../guard-sdk/src/pqc.ts";

interface VerifyGroup {
  readonly publicKey: string;
  readonly tests: readonly {
    readonly tcId: number;
    readonly msg: string;
    readonly ctx?: string;
    readonly sig: string;
    readonly result: string;
  }[];
}
const { testGroups } = JSON.parse(readFileSync(new URL("../../vectors/mldsa_65_verify_subset_test.json", import.meta.url), "utf8")) as {
  testGroups: readonly VerifyGroup[];
};

describe("Wycheproof ML-DSA-65 with an empty context", () => {
  test.for([false, true])("verifies exactly the valid signatures; portable: %s", async (portable) => {
    let judged = 0;
    for (const { publicKey, tests } of testGroups) {
      const key = await importMldsa(Buffer.from(publicKey, "hex").toString("base64url"), portable).catch(() => undefined);
      for (const { tcId, msg, ctx, sig, result } of tests) {
        if (ctx !== undefined && ctx !== "") continue;
        const bytes = (text: string) => new Uint8Array(Buffer.from(text, "hex"));
        expect([tcId, key !== undefined && (await key.verifies(bytes(msg), bytes(sig)))]).toEqual([tcId, result === "valid"]);
        judged++;
      }
    }
    expect(judged).toBeGreaterThan(30);
  });
});

const ISSUER = "https://issuer.example.test";
const ed = generateKeyPairSync("ed25519");
const pq = generateKeyPairSync("ml-dsa-65");
const { pub } = pq.publicKey.export({ format: "jwk" }) as { pub: string };
const JWKS = {
  keys: [
    { kty: "OKP", crv: "Ed25519", x: ed.publicKey.export({ format: "jwk" }).x, kid: "ed" },
    { kty: "AKP", alg: "ML-DSA-65", pub: "short", kid: "bad" },
    { kty: "AKP", alg: "ML-DSA-65", pub, use: "sig", kid: "pq" },
    { kty: "AKP", alg: "ML-DSA-44", pub, use: "sig", kid: "other" },
    null,
  ],
};

const fetchKeySet: typeof fetch = async (input) => {
  const url = String(input);
  if (url === `${ISSUER}/.well-known/oauth-authorization-server`) return Response.json({ issuer: ISSUER, jwks_uri: `${ISSUER}/jwks` });
  return url === `${ISSUER}/jwks` ? Response.json(JWKS) : new Response(null, { status: 404 });
};

function aToken(header: object = { pqc_alg: "ML-DSA-65", pqc_kid: "pq" }, claims: object = { iss: ISSUER }) {
  const encode = (value: object) => base64url.encode(JSON.stringify(value));
  const input = `${encode({ alg: "EdDSA", typ: "at+jwt", kid: "ed", ...header })}.${encode(claims)}`;
  const detached = { pqc_alg: "ML-DSA-65", pqc_signature: sign(null, Buffer.from(input), pq.privateKey).toString("base64url") };
  return { token: `${input}.${sign(null, Buffer.from(input), ed.privateKey).toString("base64url")}`, detached };
}

const verifier = (introspect?: (token: string) => Promise<DetachedSignature>) =>
  createPqcVerifier({ issuer: ISSUER, fetch: fetchKeySet, ...(introspect && { introspect }) });

describe("docs/protocol.md#hybrid-signing: verification of the second signature", () => {
  const { token, detached } = aToken();

  test("a given or introspected signature is verified with the key that the header names", async () => {
    expect(await verifier().check(token, detached)).toEqual({ kind: "verified", kid: "pq" });
    const asked: string[] = [];
    const introspecting = verifier(async (text) => {
      asked.push(text);
      return { active: true, ...detached } as DetachedSignature;
    });
    expect(await introspecting.check(token)).toEqual({ kind: "verified", kid: "pq" });
    await introspecting.assertHybrid(token);
    expect(asked).toEqual([token, token]);
  });

  test("a hybrid token without a second signature is unverifiable, and refused where one is required", async () => {
    for (const none of [verifier(), verifier(async () => ({}))]) {
      expect(await none.check(token)).toEqual({ kind: "unverifiable", reason: "signature_missing" });
      await expect(none.assertHybrid(token)).rejects.toMatchObject({ code: "invalid_token", reason: "pqc_signature_missing" });
    }
  });

  test("a classical token is reported as classical, and refused where a second signature is required, so that stripping the header does not help", async () => {
    const plain = aToken({});
    expect(await verifier().check(plain.token, plain.detached)).toEqual({ kind: "classical" });
    await expect(verifier().assertHybrid(plain.token, plain.detached)).rejects.toMatchObject({ reason: "pqc_classical" });
  });

  test.for([
    ["another token's signature", aToken(undefined, { iss: ISSUER, sub: "x" }).detached],
    ["a cut signature", { pqc_signature: detached.pqc_signature.slice(0, -4) }],
    ["invalid base64url", { pqc_signature: "%%%" }],
    ["an empty signature", { pqc_signature: "" }],
    ["a signature with an extra character", { pqc_signature: `${detached.pqc_signature}A` }],
    ["null", { pqc_signature: null as unknown as string }],
    ["a number", { pqc_signature: 7 as unknown as string }],
  ] as const)("%s is reported as forged", async ([, given]) => {
    expect(await verifier().check(token, given)).toEqual({ kind: "forged" });
  });

  test.for([
    [{ pqc_alg: "ML-DSA-65", pqc_kid: "unknown" }, "key_unknown"],
    [{ pqc_alg: "ML-DSA-65", pqc_kid: "ed" }, "key_unknown"],
    [{ pqc_alg: "ML-DSA-65", pqc_kid: "other" }, "key_unknown"],
    [{ pqc_alg: "ML-DSA-65" }, "algorithm_unsupported"],
    [{ pqc_alg: "ML-DSA-87", pqc_kid: "pq" }, "algorithm_unsupported"],
  ] as const)("%j is unverifiable: %s", async ([header, reason]) => {
    const one = aToken(header);
    expect(await verifier().check(one.token, one.detached)).toEqual({ kind: "unverifiable", reason });
  });

  test("a second signature of an issuer that publishes no ML-DSA key any more is unverifiable", async () => {
    const classical: typeof fetch = (input) =>
      String(input).endsWith("/jwks") ? Promise.resolve(Response.json({ keys: JWKS.keys.slice(0, 1) })) : fetchKeySet(input);
    const pqc = createPqcVerifier({ issuer: ISSUER, fetch: classical });
    expect(await pqc.check(token, detached)).toEqual({ kind: "unverifiable", reason: "key_unknown" });
  });

  test("a failed introspection and unavailable keys are temporarily_unavailable", async () => {
    const failing = verifier(() => Promise.reject(new Error("away")));
    await expect(failing.check(token)).rejects.toMatchObject({ code: "temporarily_unavailable", reason: "introspection_failed" });
    const away = createPqcVerifier({ issuer: ISSUER, fetch: async () => new Response(null, { status: 500 }) });
    await expect(away.check(token, detached)).rejects.toMatchObject({ code: "temporarily_unavailable", reason: "keys_unavailable" });
  });

  test("a malformed token or one of another issuer is refused", async () => {
    await expect(verifier().check("x.y.z", detached)).rejects.toMatchObject({ code: "invalid_token" });
    const foreign = aToken(undefined, { iss: "https://other.example.test" });
    await expect(verifier().check(foreign.token, foreign.detached)).rejects.toMatchObject({ reason: "issuer_unknown" });
  });

  test("only ML-DSA-65 keys are read from a JWK Set, and unchanged ones are kept", async () => {
    const first = await readMldsaKeySet(JWKS.keys);
    expect([...first.keys()]).toEqual(["pq"]);
    expect((await readMldsaKeySet(JWKS.keys, first)).get("pq")).toBe(first.get("pq"));
  });
});

describe("a guard that requires both signatures", () => {
  const RESOURCE = "https://notes.example.test";
  const claims = { iss: ISSUER, aud: RESOURCE, sub: "ada", exp: Math.floor(Date.now() / 1000) + 300 };
  const hybrid = aToken(undefined, claims);

  /** A guard whose introspection returns `verdict`, and the tokens that it introspected. */
  function hybridGuard(verdict: DetachedSignature) {
    const asked: string[] = [];
    const pqc = verifier(async (token) => {
      asked.push(token);
      return verdict;
    });
    const guard = createGuard({
      resource: RESOURCE,
      authorizationServers: [ISSUER],
      fetch: fetchKeySet,
      verification: requireHybrid(pqc),
    });
    return { guard, asked };
  }

  test("accepts a token with both signatures, and introspects it once", async () => {
    const { guard, asked } = hybridGuard(hybrid.detached);
    for (let times = 0; times < 3; times++) expect(await guard.verifyToken(hybrid.token)).toMatchObject({ sub: "ada" });
    expect(asked).toEqual([hybrid.token]);
  });

  test("introspects a token once for concurrent requests, and again after an introspection that failed", async () => {
    let asked = 0;
    let answer = Promise.withResolvers<DetachedSignature>();
    const introspect = () => {
      asked += 1;
      return answer.promise;
    };
    const guard = createGuard({
      resource: RESOURCE,
      authorizationServers: [ISSUER],
      fetch: fetchKeySet,
      verification: requireHybrid(verifier(introspect)),
    });
    const statuses = async () => {
      const answers = await Promise.allSettled(Array.from({ length: 20 }, () => guard.verifyToken(hybrid.token)));
      return new Set(answers.map(({ status }) => status));
    };
    const first = statuses();
    await vi.waitUntil(() => asked > 0);
    answer.reject(new Error("away"));
    expect([await first, asked]).toEqual([new Set(["rejected"]), 1]);
    answer = Promise.withResolvers();
    answer.resolve(hybrid.detached);
    expect([await statuses(), asked]).toEqual([new Set(["fulfilled"]), 2]);
  });

  test("refuses classical tokens and missing or forged signatures, also when they are repeated", async () => {
    const forged = aToken(undefined, { ...claims, sub: "eve" }).detached;
    for (const [token, verdict, reason] of [
      [aToken({}, claims).token, hybrid.detached, "pqc_classical"],
      [hybrid.token, {}, "pqc_signature_missing"],
      [hybrid.token, forged, "pqc_forged"],
    ] as const) {
      const { guard } = hybridGuard(verdict);
      for (let times = 0; times < 2; times++)
        await expect(guard.verifyToken(token)).rejects.toMatchObject({ code: "invalid_token", reason });
    }
  });

  test("refuses a token that it verified once its ML-DSA key is withdrawn", async () => {
    let [keys, elapsed, asked] = [JWKS.keys, 0, 0];
    const fetch: typeof fetchKeySet = async (input) => (String(input).endsWith("/jwks") ? Response.json({ keys }) : fetchKeySet(input));
    const clocks = { now: () => Math.floor(Date.now() / 1000), elapsed: () => elapsed };
    const introspect = async () => {
      asked += 1;
      return hybrid.detached;
    };
    const verification = requireHybrid(createPqcVerifier({ issuer: ISSUER, fetch, clocks, introspect }));
    const guard = createGuard({ resource: RESOURCE, authorizationServers: [ISSUER], fetch, clocks, verification });
    expect(await guard.verifyToken(hybrid.token)).toMatchObject({ sub: "ada" });
    elapsed += 301;
    expect(await guard.verifyToken(hybrid.token)).toMatchObject({ sub: "ada" });
    keys = JWKS.keys.slice(0, 1);
    elapsed += 301;
    for (let times = 0; times < 2; times++)
      await expect(guard.verifyToken(hybrid.token)).rejects.toMatchObject({ code: "invalid_token", reason: "pqc_key_unknown" });
    expect(asked).toBe(1);
  });

  test("does not introspect a token whose first signature is invalid", async () => {
    const { guard, asked } = hybridGuard(hybrid.detached);
    const bent = `${hybrid.token.slice(0, -86)}${aToken({}, claims).token.slice(-86)}`;
    await expect(guard.verifyToken(bent)).rejects.toMatchObject({ reason: "signature_invalid" });
    expect(asked).toEqual([]);
  });
});
