import { createHash, createPrivateKey, X509Certificate } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CredentialIssuer, credentialIssuer } from "../support/credential-issuer.ts";
import { type Linking, linkingAt } from "../support/linking.ts";
import { privateCa } from "../support/private-ca.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { aWallet } from "../support/wallet.ts";

const HOST = "id.example.test";
const ca = privateCa();
const { key, cert } = ca.serverFor(HOST);
const hash = createHash("sha256").update(new X509Certificate(cert).raw).digest("base64url");

const PREFIXES = [
  ["x509_san_dns", `x509_san_dns:${HOST}`],
  ["x509_hash", `x509_hash:${hash}`],
] as const;

describe.each(PREFIXES)("OID4VP §5: signed requests by reference, %s", (prefix, clientId) => {
  let issuer: CredentialIssuer;
  let server: TestServer;
  let at: Linking;
  let local: string;
  /** Sends a request for the public name to the service, as a proxy would. */
  const behindProxy: typeof fetch = (input, init) => fetch(String(input).replace(`https://${HOST}`, local), init);
  beforeAll(async () => {
    issuer = await credentialIssuer();
    server = await startServer({
      env: {
        JWT_ISSUER: `https://${HOST}`,
        WALLET_FEDERATION_ENABLED: "true",
        WALLET_TRUSTED_ISSUERS: issuer.url,
        WALLET_ISSUER_ROOTS: ca.certificatePem,
        WALLET_VERIFIER_CERT: cert,
        WALLET_VERIFIER_KEY: key,
        WALLET_CLIENT_ID_PREFIX: prefix,
      },
    });
    local = `http://localhost:${server.config.port}`;
    at = linkingAt(server, local);
  });
  afterAll(async () => {
    expect(server.faults()).toEqual([]);
    await server.close();
    await issuer.close();
  });
  const wallet = () => aWallet({ fetch: behindProxy, authority: ca.certificatePem });
  const objectAt = async (uri: string, init?: RequestInit) => {
    const response = await behindProxy(uri, init);
    const text = await response.text();
    const [header, claims] = text.split(".").map((part) => Buffer.from(part, "base64url").toString());
    return { response, header: JSON.parse(header ?? ""), claims: JSON.parse(claims ?? "") };
  };

  test("an independent library accepts the request, and its presentation links the wallet", async () => {
    const [user, mine] = [await at.aUser(), wallet()];
    const { handle, invocation_uri } = await at.begin(user);
    const asked = await mine.open(invocation_uri);
    expect(asked).toMatchObject({ clientId, responseUri: `https://${HOST}/auth/link/wallet/response` });
    await mine.sendPresentation(asked, await mine.present(await issuer.issue({ holder: mine.holder, claims: { sub: "signed" } }), asked));
    expect((await at.poll(user, handle)).body).toEqual({ status: "linked" });
  });

  test("the invocation contains only client_id, request_uri and request_uri_method", async () => {
    const { invocation_uri } = await at.begin(await at.aUser());
    const { client_id, request_uri, ...rest } = Object.fromEntries(new URL(invocation_uri).searchParams);
    expect([client_id, rest]).toEqual([clientId, { request_uri_method: "post" }]);
    expect(request_uri).toMatch(new RegExp(`^https://${HOST}/auth/link/wallet/request/[\\w-]{43}$`));
  });

  test("the request object has its media type, certificate chain, audience and the expiry of the link", async () => {
    const { invocation_uri, expires_at } = await at.begin(await at.aUser());
    const uri = new URL(invocation_uri).searchParams.get("request_uri") ?? "";
    const { response, header, claims } = await objectAt(uri);
    expect([response.status, response.headers.get("content-type"), response.headers.get("cache-control")]).toEqual([
      200,
      "application/oauth-authz-req+jwt",
      "no-store",
    ]);
    expect(header).toEqual({ alg: "ES256", typ: "oauth-authz-req+jwt", x5c: [new X509Certificate(cert).raw.toString("base64")] });
    expect(claims).toMatchObject({ aud: "https://self-issued.me/v2", client_id: clientId, exp: expires_at, response_mode: "direct_post" });
    expect(Math.abs(claims.iat - Date.now() / 1_000)).toBeLessThan(30);
  });

  test("a wallet_nonce is returned as a claim, and the request can be fetched again", async () => {
    const { invocation_uri } = await at.begin(await at.aUser());
    const uri = new URL(invocation_uri).searchParams.get("request_uri") ?? "";
    const first = await objectAt(uri, { method: "POST", body: new URLSearchParams({ wallet_nonce: "w-1" }) });
    const second = await objectAt(uri, { method: "POST", body: new URLSearchParams({ wallet_nonce: "w-2" }) });
    expect([first.claims.wallet_nonce, second.claims.wallet_nonce]).toEqual(["w-1", "w-2"]);
    expect([first.claims.nonce, first.claims.state]).toEqual([second.claims.nonce, second.claims.state]);
    expect((await objectAt(uri)).claims).not.toHaveProperty("wallet_nonce");
  });

  test("an answered, expired or unknown request returns 404", async () => {
    const [user, mine] = [await at.aUser(), wallet()];
    const [answered, expired] = [await at.begin(user), await at.begin(user)];
    await mine.decline(answered.invocation_uri);
    await at.letExpire(user);
    const uris = [answered, expired].map(({ invocation_uri }) => new URL(invocation_uri).searchParams.get("request_uri") ?? "");
    for (const uri of [...uris, `https://${HOST}/auth/link/wallet/request/${"x".repeat(43)}`]) {
      const response = await behindProxy(uri);
      expect([response.status, await response.json()]).toEqual([404, { message: expect.any(String) }]);
    }
  });

  test("a presentation for the client_id without its prefix is rejected", async () => {
    const [user, mine] = [await at.aUser(), wallet()];
    const { handle, invocation_uri } = await at.begin(user);
    const asked = await mine.open(invocation_uri);
    const credential = await issuer.issue({ holder: mine.holder, claims: { sub: "prefix" } });
    await mine.sendPresentation(asked, await mine.present(credential, { ...asked, clientId: clientId.split(":")[1] ?? "" }));
    expect((await at.poll(user, handle)).body.status).toBe("rejected");
    expect(await at.refusals(user)).toEqual(["key_binding_for_another"]);
  });

  test("SD-JWT VC §3.5: a credential with x5c is accepted only if its chain ends in a trusted root", async () => {
    const certified = ca.serverFor("localhost");
    const by = { alg: "ES256" as const, privateKey: createPrivateKey(certified.key), jwk: {} };
    const stranger = privateCa().serverFor("localhost");
    const outcomes: unknown[] = [];
    for (const { cert: leaf } of [certified, stranger]) {
      const [user, mine] = [await at.aUser(), wallet()];
      const x5c = [new X509Certificate(leaf).raw.toString("base64")];
      const credential = await issuer.issue({ holder: mine.holder, by, claims: { sub: "certified" }, header: { kid: undefined, x5c } });
      outcomes.push([(await at.link(user, mine, credential)).body.status, ...(await at.refusals(user))]);
    }
    expect(outcomes).toEqual([["linked"], ["rejected", "issuer_certificate_not_trusted"]]);
  });
});
