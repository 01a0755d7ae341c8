import { generateKeyPairSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createPqcVerifier } from "@countersign/guard/pqc";
import * as grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openMldsaKey } from "../../src/core/signing/ml-dsa.ts";
import { mldsaPrivatePem, readMldsaPrivate } from "../../src/ml-dsa-key.ts";
import { basicAuth, claimsOf, headerOf } from "../support/flow.ts";
import { startServer, type TestServer } from "../support/server.ts";

const pem = generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString();
const KEYS = { JWT_PRIVATE_KEY: pem, JWT_MLDSA_PRIVATE_KEY: mldsaPrivatePem(Buffer.alloc(32, 9)) };
const HYBRID = { ...KEYS, HYBRID_SIGNING_ENABLED: "true" };
const GRANT = { grant_type: "client_credentials", scope: "notes:read" };

const workerToken = async (server: TestServer) => (await server.token(server.clients.worker, GRANT)).body;
const keySet = async (server: TestServer) => (await server.get("/.well-known/jwks.json")).body.keys;

function grpcIntrospect(server: TestServer, tokens: readonly string[]): Promise<{ responses: Record<string, unknown>[] }> {
  const proto = new URL("../../proto", import.meta.url).pathname;
  const definition = loadSync("countersign/introspection/v1/introspection.proto", { keepCase: true, includeDirs: [proto] })[
    "countersign.introspection.v1.IntrospectionService"
  ] as grpc.ServiceDefinition;
  const client = new (grpc.makeGenericClientConstructor(definition, ""))(server.grpc, grpc.credentials.createInsecure());
  const metadata = new grpc.Metadata();
  metadata.set("authorization", basicAuth("worker", "worker-secret"));
  return new Promise((resolve, reject) => {
    const requests = tokens.map((token) => ({ token }));
    client.IntrospectBatch?.({ requests }, metadata, (error: Error | null, answer: { responses: Record<string, unknown>[] }) => {
      client.close();
      if (error) reject(error);
      else resolve(answer);
    });
  });
}

describe("reference delivery", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startServer({ env: HYBRID });
  });
  afterAll(() => server.close());

  test("§2.10: the JWK Set has an AKP key with public members only", async () => {
    const entries = await keySet(server);
    expect(entries.map(({ kty }: { kty: string }) => kty)).toEqual(["OKP", "AKP"]);
    expect(Object.keys(entries[1]).sort()).toEqual(["alg", "kid", "kty", "pub", "use"]);
    expect([entries[1].alg, entries[1].use, Buffer.from(entries[1].pub, "base64url").length]).toEqual(["ML-DSA-65", "sig", 1952]);
  });

  test("§8, §9: the access token stays EdDSA, and introspection returns the ML-DSA-65 signature of 4412 characters", async () => {
    const entries = await keySet(server);
    const answer = await workerToken(server);
    expect(Object.keys(answer).sort()).toEqual(["access_token", "expires_in", "scope", "token_type"]);
    const token = answer.access_token;
    const [ed, akp] = entries;
    expect(headerOf(token)).toEqual({ alg: "EdDSA", typ: "at+jwt", kid: ed.kid, pqc_alg: "ML-DSA-65", pqc_kid: akp.kid });
    const { body } = await server.introspect(server.clients.worker, token);
    expect([body.active, body.pqc_alg, body.pqc_signature.length]).toEqual([true, "ML-DSA-65", 4412]);
    expect(Buffer.from(body.pqc_signature, "base64url")).toHaveLength(3309);
  });

  test("§8: a user's token with UUID ids, one resource and four scopes has between 640 and 830 characters", async () => {
    const { web } = server.clients;
    const { browser } = await server.signedInUser();
    const tokens = await server.tokens(web, browser, {
      scope: "openid email notes:read notes:write",
      resource: "https://notes.example.test/mcp",
    });
    expect(tokens.access_token.length).toBeGreaterThan(640);
    expect(tokens.access_token.length).toBeLessThan(830);
    expect(headerOf(tokens.id_token)).toEqual({ alg: "EdDSA", typ: "JWT", kid: (await keySet(server))[0].kid });
    const refreshed = await server.refresh(web, tokens.refresh_token);
    expect(headerOf(refreshed.body.access_token).pqc_alg).toBe("ML-DSA-65");
    expect((await server.introspect(web, refreshed.body.access_token)).body.pqc_signature).toHaveLength(4412);
    expect((await server.userinfo(refreshed.body.access_token)).status).toBe(200);
  });

  test("createPqcVerifier verifies a token with the signature of HTTP introspection and refuses that of another token", async () => {
    const { access_token: token } = await workerToken(server);
    const verifier = createPqcVerifier({
      issuer: server.url,
      introspect: async (text) => (await server.introspect(server.clients.worker, text)).body,
    });
    expect(await verifier.check(token)).toMatchObject({ kind: "verified" });
    const other = (await server.introspect(server.clients.worker, (await workerToken(server)).access_token)).body;
    expect(await verifier.check(token, other)).toEqual({ kind: "forged" });
  });

  test("§2.9: gRPC introspection returns the signatures of a batch", async () => {
    const tokens = await Promise.all(Array.from({ length: 12 }, async () => (await workerToken(server)).access_token as string));
    const { responses } = await grpcIntrospect(server, tokens);
    const verifier = createPqcVerifier({ issuer: server.url });
    for (const [n, response] of responses.entries())
      expect(await verifier.check(tokens[n] ?? "", response)).toMatchObject({ kind: "verified" });
  });

  test("§2.9: a missing signature does not change active, and an inactive token has no signature", async () => {
    const { worker } = server.clients;
    const { access_token: token } = await workerToken(server);
    await server.database.sql.query({ name: "test_forget_signatures", text: "delete from detached_signatures" }, []);
    const { body } = await server.introspect(worker, token);
    expect([body.active, body.pqc_signature, body.pqc_alg]).toEqual([true, undefined, undefined]);
    const next = (await workerToken(server)).access_token;
    await server.revoke(worker, next);
    expect((await server.introspect(worker, next)).body).toEqual({ active: false });
    expect((await server.introspect(server.clients.other, token)).body).toEqual({ active: false });
  });

  test("50 concurrent tokens each get their own signature", async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => workerToken(server)));
    const verifier = createPqcVerifier({
      issuer: server.url,
      introspect: async (text) => (await server.introspect(server.clients.worker, text)).body,
    });
    const verdicts = await Promise.all(answers.map(({ access_token }) => verifier.check(access_token)));
    expect(verdicts.filter(({ kind }) => kind === "verified")).toHaveLength(50);
  });
});

test("self-contained delivery adds two members to the token response, which createPqcVerifier verifies", async () => {
  const server = await startServer({ env: { ...HYBRID, PQC_TOKEN_DELIVERY: "self-contained", PQC_SELF_CONTAINED_ACK: "true" } });
  try {
    const answer = await workerToken(server);
    expect(Object.keys(answer).sort()).toEqual(["access_token", "expires_in", "pqc_alg", "pqc_signature", "scope", "token_type"]);
    expect(answer.access_token.split(".")).toHaveLength(3);
    expect(await createPqcVerifier({ issuer: server.url }).check(answer.access_token, answer)).toMatchObject({ kind: "verified" });
    const { body } = await server.introspect(server.clients.worker, answer.access_token);
    expect(body.pqc_signature).toBe(answer.pqc_signature);
    const { login } = await server.signedInUser({ verified: false });
    expect(Object.keys(login).sort()).toEqual(["access_token", "expires_in", "refresh_token", "token_type"]);
  } finally {
    await server.close();
  }
});

describe("a deployment without hybrid signing", () => {
  /** What a client sees, without what differs between servers. */
  async function seen(env: Record<string, string>) {
    const server = await startServer({ env: { JWT_PRIVATE_KEY: pem, ...env } });
    try {
      const answer = await server.token(server.clients.worker, GRANT);
      const [header] = answer.body.access_token.split(".");
      const documents = await Promise.all(
        ["oauth-authorization-server", "openid-configuration", "jwks.json"].map(async (name) => {
          const response = await fetch(new URL(`/.well-known/${name}`, server.url));
          return (await response.text()).replaceAll(server.url, "ISSUER");
        }),
      );
      const introspected = await server.introspect(server.clients.worker, answer.body.access_token);
      return {
        header,
        claims: Object.keys(claimsOf(answer.body.access_token)),
        answer: Object.keys(answer.body),
        headers: [...answer.headers.keys()].sort(),
        introspected: Object.keys(introspected.body),
        documents,
      };
    } finally {
      await server.close();
    }
  }

  test("header, responses, metadata and JWK Set have no post-quantum members by default", async () => {
    const plain = await seen({});
    const [ed] = JSON.parse(plain.documents[2] ?? "").keys;
    const classical = { kty: "OKP", crv: "Ed25519", x: ed.x, use: "sig", alg: "EdDSA", kid: ed.kid };
    expect(JSON.parse(plain.documents[2] ?? "")).toEqual({ keys: [classical] });
    expect(Buffer.from(plain.header, "base64url").toString()).toBe(`{"alg":"EdDSA","typ":"at+jwt","kid":"${ed.kid}"}`);
    // The header is compared above. A random key may spell any three letters.
    const unkeyed = JSON.stringify({ ...plain, header: "" })
      .replaceAll(ed.kid, "KID")
      .replaceAll(ed.x, "X");
    expect(unkeyed).not.toMatch(/pqc|AKP|ML-DSA/);
    // Explicitly off, with a delivery setting, nothing differs. With only a key, only the JWK Set differs.
    expect(await seen({ HYBRID_SIGNING_ENABLED: "false", PQC_TOKEN_DELIVERY: "reference" })).toEqual(plain);
    const published = await seen({ JWT_MLDSA_PRIVATE_KEY: KEYS.JWT_MLDSA_PRIVATE_KEY });
    expect(JSON.parse(published.documents[2] ?? "").keys.map(({ kty }: { kty: string }) => kty)).toEqual(["OKP", "AKP"]);
    expect({ ...published, documents: published.documents.slice(0, 2) }).toEqual({ ...plain, documents: plain.documents.slice(0, 2) });
  });
});

test("hybrid signing outside production generates a missing key and stores it in the data directory", async () => {
  const server = await startServer({ env: { HYBRID_SIGNING_ENABLED: "true" } });
  try {
    const [, akp] = await keySet(server);
    const kept = readMldsaPrivate(readFileSync(join(server.dataDir, "keys", "ml-dsa-65.pem"), "utf8"));
    expect(akp).toEqual((await openMldsaKey(kept?.seed ?? Buffer.alloc(0))).jwk);
    expect(headerOf((await workerToken(server)).access_token).pqc_kid).toBe(akp.kid);
  } finally {
    await server.close();
  }
});
