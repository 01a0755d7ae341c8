import childProcess from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { syncBuiltinESMExports } from "node:module";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Agent, agent, clientSecret, generateProofKey, privateKey, publicClient, workloadToken } from "@countersign/agent";
import { commandToken, githubToken, kubernetesToken } from "@countersign/agent/workload";
import { decodeProtectedHeader, importJWK, jwtVerify } from "jose";
import { describe, expect, onTestFinished, test } from "vitest";
import { jws, keyFor } from "../../support/assertions.ts";

const ISSUER = "https://auth.example";
const request = { issuer: ISSUER, clientId: "my agent:1", methods: ["client_secret_basic", "client_secret_post"] };
const TYPE = "urn:ietf:params:oauth:client-assertion-type";
const RESOURCE = "https://notes.example";
const P256 = { name: "ECDSA", namedCurve: "P-256" };
/** A pair whose public half cannot be exported either, so that no proof can have it. */
async function withSealedPublicKey(): Promise<CryptoKeyPair> {
  const pair = await generateProofKey();
  const spki = await crypto.subtle.exportKey("spki", pair.publicKey);
  return { ...pair, publicKey: await crypto.subtle.importKey("spki", spki, P256, false, ["verify"]) };
}
/** What a program without types may pass. */
const misread = <Expected>(value: unknown) => value as Expected;

test("RFC 6749 §2.3.1: a secret goes by Basic, form-encoded, or in the body where the server takes nothing else", async () => {
  const credential = clientSecret("s%:+ /ü");
  const { headers } = await credential.authenticate(request);
  const [, encoded = ""] = headers?.authorization?.split(" ") ?? [];
  expect(Buffer.from(encoded, "base64").toString()).toBe("my+agent%3A1:s%25%3A%2B+%2F%C3%BC");
  const posted = await credential.authenticate({ ...request, methods: ["client_secret_post"] });
  expect(posted).toEqual({ parameters: { client_id: "my agent:1", client_secret: "s%:+ /ü" } });
  expect(await publicClient().authenticate(request)).toEqual({ parameters: { client_id: "my agent:1" } });
});

describe.for(["EdDSA", "ES256", "ES384", "ES512", "PS256", "RS256"])("RFC 7523 §2.2: a private key for %s", (alg) => {
  const { privateKey: pair, jwk } = keyFor(alg, "k1");
  const needsName = alg === "PS256";
  test.for([
    ["PEM", pair.export({ type: "pkcs8", format: "pem" }).toString()],
    ["JWK", { ...pair.export({ format: "jwk" }), ...(needsName && { alg }) }],
  ] as const)("signs a new assertion for the issuer each time, from %s", async ([, key]) => {
    const credential = privateKey(key, { kid: "k1", ...(needsName && { alg }) });
    const assertions = await Promise.all([1, 2].map(async () => (await credential.authenticate(request)).parameters));
    const [first, second] = assertions.map(({ client_assertion }) => client_assertion ?? "");
    expect(first).not.toBe(second);
    expect(assertions[0]).toMatchObject({ client_id: "my agent:1", client_assertion_type: `${TYPE}:jwt-bearer` });
    const { payload } = await jwtVerify(first ?? "", await importJWK(jwk, alg), { audience: ISSUER, issuer: "my agent:1" });
    expect([payload.sub, (payload.exp ?? 0) - (payload.iat ?? 0), decodeProtectedHeader(first ?? "").kid]).toEqual([
      "my agent:1",
      60,
      "k1",
    ]);
  });
});

test.for([
  ["missing", undefined],
  ["null", null],
  ["empty", ""],
  ["a number", 7],
] as const)("a private key that is %s is refused at once", ([, key]) => {
  expect(() => privateKey(misread(key))).toThrow(TypeError);
  expect(() => privateKey(misread(key))).toThrow("the private key must be a CryptoKey, PKCS #8 in PEM, or a private JWK");
});

test("a CryptoKey that cannot be exported signs, and what is no private key is named as such", async () => {
  const { privateKey: key } = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, false, ["sign", "verify"]);
  const { parameters } = await privateKey(key).authenticate(request);
  expect(decodeProtectedHeader(parameters.client_assertion ?? "")).toEqual({ alg: "ES256", typ: "JWT" });
  for (const text of ["no key", "-----BEGIN PRIVATE KEY-----\nMIGHA\n-----END PRIVATE KEY-----"])
    await expect(privateKey(text).authenticate(request)).rejects.toThrow("PKCS #8");
  const x25519 = generateKeyPairSync("x25519").privateKey.export({ format: "jwk" });
  await expect(privateKey(x25519).authenticate(request)).rejects.toThrow("PKCS #8");
});

describe("tokens of a platform", () => {
  const token = jws({ sub: "system:serviceaccount:jobs:reader" }, keyFor("ES256"));
  const svid = jws({ sub: "spiffe://corp.example/reader" }, keyFor("ES256"));
  const dir = mkdtempSync(join(tmpdir(), "agent-"));

  test("authenticate the client, SVIDs by a type of their own, or are the grant", async () => {
    const sources = [workloadToken(() => ` ${token}\n`), workloadToken(async () => svid)];
    const [oidc, spiffe] = await Promise.all(sources.map((source) => source.authenticate(request)));
    expect(oidc?.parameters).toEqual({ client_id: "my agent:1", client_assertion: token, client_assertion_type: `${TYPE}:jwt-bearer` });
    expect(spiffe?.parameters).toMatchObject({ client_assertion: svid, client_assertion_type: `${TYPE}:jwt-spiffe` });
    const grant = await workloadToken(() => token, { use: "grant" }).grant?.(request);
    expect(grant).toEqual({ grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer", assertion: token });
    expect(sources[0]?.grant).toBeUndefined();
  });

  test("come from a file, a command or GitHub, for the issuer", async () => {
    writeFileSync(join(dir, "token"), token);
    expect(await kubernetesToken(join(dir, "token"))({ issuer: ISSUER })).toBe(token);
    rmSync(dir, { recursive: true });
    const print = 'console.log("token(" + process.argv[1] + "):\\n\\t" + process.argv[2] + "\\nbundle(x): {}")';
    expect(await commandToken([process.execPath, "-e", print, "{issuer}", svid])({ issuer: ISSUER })).toBe(svid);

    const asked: unknown[] = [];
    const server = createServer((inbound, response) => {
      asked.push(inbound.url, inbound.headers.authorization);
      response.end(JSON.stringify({ value: token }));
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const env = { ACTIONS_ID_TOKEN_REQUEST_URL: `http://127.0.0.1:${port}/t?api-version=2`, ACTIONS_ID_TOKEN_REQUEST_TOKEN: "job" };
    expect(await githubToken(env)({ issuer: ISSUER })).toBe(token);
    expect(asked).toEqual([`/t?api-version=2&audience=${encodeURIComponent(ISSUER)}`, "Bearer job"]);
  });

  test("that are not to be had are an error that says why, and holds no token", async () => {
    const cause = new Error(`the platform refused ${token}`);
    const failing = [
      [() => Promise.reject(cause), "its source failed"],
      [kubernetesToken(join(dir, "none")), `${join(dir, "none")} cannot be read`],
      [githubToken({}), "this is no GitHub Actions job with the permission id-token: write"],
      [
        githubToken({ ACTIONS_ID_TOKEN_REQUEST_URL: "http://127.0.0.1:9/", ACTIONS_ID_TOKEN_REQUEST_TOKEN: "job" }),
        "http://127.0.0.1:9/ does not answer",
      ],
      [commandToken([process.execPath, "-e", "process.exit(1)"]), `${process.execPath} failed`],
      [commandToken([process.execPath, "-e", "console.log('nothing')"]), `${process.execPath} printed no JWT`],
      [() => " ", "its source returned nothing"],
    ] as const;
    for (const [source, reason] of failing) {
      const refused = workloadToken(source).authenticate(request);
      await expect(refused).rejects.toMatchObject({ code: "credential_unavailable", message: `no workload token: ${reason}` });
    }
    await expect(workloadToken(() => Promise.reject(cause)).authenticate(request)).rejects.toMatchObject({ cause });
  });
});

test("a command that ignores SIGTERM does not hold its caller beyond the timeout", async () => {
  const { execFile } = childProcess;
  const restore = () => {
    childProcess.execFile = execFile;
    syncBuiltinESMExports();
  };
  onTestFinished(restore);
  childProcess.execFile = ((file: string, args: string[], options: object, done: () => void) =>
    execFile(file, args, { ...options, timeout: 500 }, done)) as typeof execFile;
  syncBuiltinESMExports();
  const stubborn = commandToken(["sh", "-c", 'trap "" TERM; exec sleep 60']);
  await expect(stubborn({ issuer: ISSUER })).rejects.toThrow("sh failed");
});

test.for<[Record<string, unknown>, string]>([
  [{ isuer: ISSUER }, '"isuer"'],
  [{ issuer: "http://auth.example" }, "https"],
  [{ issuer: undefined }, "https"],
  [{ clientId: "" }, "clientId"],
  [{ credential: undefined }, "credential"],
  [{ credential: "secret" }, "credential"],
  [{ dpop: "always" }, "dpop"],
  [{ proofKey: "key" }, "proofKey"],
  [{ proofKey: null }, "proofKey"],
  [{ proofKey: await crypto.subtle.generateKey("Ed25519", false, ["sign", "verify"]) }, "proofKey"],
  [{ proofKey: await withSealedPublicKey() }, "proofKey"],
  [{ fetch: "fetch" }, "fetch"],
])("an unusable option is a TypeError: %j", ([options, message]) => {
  const usable = { issuer: ISSUER, clientId: "a", credential: publicClient() };
  expect(() => agent({ ...usable, ...options } as Parameters<typeof agent>[0])).toThrow(message);
});

test.for<[string, (usable: Agent) => unknown, string]>([
  ["own with scopes for scope", (a) => a.own(misread({ resource: RESOURCE, scopes: "notes:read" })), 'own has no option "scopes"'],
  ["own with a list of scopes", (a) => a.own(misread({ resource: RESOURCE, scope: ["notes:read"] })), "scope of own"],
  ["own with the resource alone", (a) => a.own(misread(RESOURCE)), "own takes its options as one object"],
  ["onBehalfOf without a token", (a) => a.onBehalfOf(misread(undefined)), "the token of onBehalfOf"],
  [
    "onBehalfOf with a whole URN",
    (a) => a.onBehalfOf("t", misread({ tokenType: "urn:ietf:params:oauth:token-type:jwt" })),
    "tokenType of onBehalfOf",
  ],
  ["onBehalfOf with no resource of a list", (a) => a.onBehalfOf("t", misread({ resource: [] })), "resource of onBehalfOf"],
  ["onBehalfOf with an empty resource", (a) => a.onBehalfOf("t", { resource: [RESOURCE, ""] }), "resource of onBehalfOf"],
  ["own with a list of resources", (a) => a.own(misread({ resource: [RESOURCE] })), "resource of own"],
  ["withAssertion without a function", (a) => a.withAssertion(misread("an assertion")), "the source of withAssertion"],
  ["withAssertion with scopes for scope", (a) => a.withAssertion(async () => "", misread({ scopes: "a" })), '"scopes"'],
  ["assertionFor without a token", (a) => a.assertionFor(ISSUER, misread({ resource: RESOURCE })), "token of assertionFor"],
  ["signIn without a redirectUri", (a) => a.signIn(misread({ resource: RESOURCE })), "redirectUri of signIn"],
  ["privateKey with keyId for kid", () => privateKey({ kty: "EC" }, misread({ keyId: "k1" })), 'privateKey has no option "keyId"'],
  ["workloadToken with grants for grant", () => workloadToken(() => "t", misread({ use: "grants" })), "use of workloadToken"],
])("a request that would be misread is a TypeError: %s", async ([, call, message]) => {
  const usable = agent({ issuer: ISSUER, clientId: "a", credential: publicClient() });
  const error: unknown = await (async () => call(usable))().catch((cause: unknown) => cause);
  expect([error instanceof TypeError, String(error)]).toEqual([true, expect.stringContaining(message)]);
});

test("a public key in place of a private one is a TypeError when it is given", async () => {
  const { publicKey } = await generateProofKey();
  expect(() => privateKey(publicKey)).toThrow("the private key must be");
});

test("an empty secret is a TypeError", () => {
  expect(() => clientSecret("")).toThrow(TypeError);
});
