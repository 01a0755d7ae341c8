/**
 * node-oidc-provider with its records in Redis, and the scenario laid down: the same endpoints, clients, users and tokens as those of the
 * product. TOKENS says whether its access tokens are `jwt`, as the product's are, or `opaque`: it introspects no others.
 */
import { generateKeyPairSync, randomUUID } from "node:crypto";
import { Redis } from "ioredis";
// @ts-expect-error the package has no types
import Provider from "oidc-provider";
import { reportTo } from "./measured.ts";
import { assertingClients, assertionPublicKey, clients, OWN_SCOPE, REDIRECT_URI, RESOURCE, SCOPE, users } from "./scenario.ts";

const port = Number(process.env.PORT);
const redis = new Redis(process.env.REDIS_URL ?? "", { keyPrefix: `bench-${process.pid}:` });
const DAY = 86_400;

/** A record, as the library serialises it. */
interface Payload {
  readonly grantId?: string;
  readonly uid?: string;
  readonly authorizations?: object;
}

/** One kind of record. What can be used up is a hash, so that its use is one command. */
class RedisAdapter {
  readonly #kind: string;

  constructor(kind: string) {
    this.#kind = kind;
  }

  async upsert(id: string, payload: Payload, expiresIn: number): Promise<void> {
    const key = `${this.#kind}:${id}`;
    const all = redis.multi().hset(key, "payload", JSON.stringify(payload)).expire(key, expiresIn);
    if (payload.grantId !== undefined && this.#kind !== "Grant") {
      all.rpush(`grant:${payload.grantId}`, key).expire(`grant:${payload.grantId}`, DAY);
    }
    if (this.#kind === "Session") all.set(`uid:${payload.uid}`, id, "EX", expiresIn);
    await all.exec();
  }

  async find(id: string): Promise<Payload | undefined> {
    const { payload, consumed } = await redis.hgetall(`${this.#kind}:${id}`);
    return payload === undefined ? undefined : { ...JSON.parse(payload), ...(consumed !== undefined && { consumed: Number(consumed) }) };
  }

  async findByUid(uid: string): Promise<Payload | undefined> {
    const id = await redis.get(`uid:${uid}`);
    return id === null ? undefined : this.find(id);
  }

  async findByUserCode(): Promise<undefined> {
    return undefined;
  }

  async consume(id: string): Promise<void> {
    await redis.hset(`${this.#kind}:${id}`, "consumed", Math.floor(Date.now() / 1000));
  }

  async destroy(id: string): Promise<void> {
    await redis.del(`${this.#kind}:${id}`);
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    const keys = await redis.lrange(`grant:${grantId}`, 0, -1);
    await redis.del(...keys, `grant:${grantId}`);
  }
}

const ordinary = clients.map(({ clientId, clientSecret }) => ({
  client_id: clientId,
  client_secret: clientSecret,
  grant_types: ["authorization_code", "refresh_token", "client_credentials"],
  redirect_uris: [REDIRECT_URI],
  id_token_signed_response_alg: "EdDSA",
}));
const asserting = assertingClients.map((clientId) => ({
  client_id: clientId,
  token_endpoint_auth_method: "private_key_jwt",
  token_endpoint_auth_signing_alg: "EdDSA",
  grant_types: ["client_credentials"],
  response_types: [],
  redirect_uris: [],
  jwks: { keys: [{ ...assertionPublicKey.export({ format: "jwk" }), kty: "OKP", use: "sig", alg: "EdDSA" }] },
  id_token_signed_response_alg: "EdDSA",
}));

const resourceServer = {
  scope: OWN_SCOPE,
  audience: RESOURCE,
  accessTokenTTL: 900,
  ...(process.env.TOKENS === "opaque"
    ? { accessTokenFormat: "opaque" as const }
    : { accessTokenFormat: "jwt" as const, jwt: { sign: { alg: "EdDSA" as const } } }),
};

const { privateKey } = generateKeyPairSync("ed25519");
const configuration = {
  adapter: RedisAdapter,
  clients: [...ordinary, ...asserting],
  jwks: { keys: [{ ...privateKey.export({ format: "jwk" }), kty: "OKP", use: "sig", alg: "EdDSA", kid: "bench" }] },
  enabledJWA: { clientAuthSigningAlgValues: ["EdDSA"], idTokenSigningAlgValues: ["EdDSA"] },
  scopes: SCOPE.split(" "),
  cookies: { names: { session: "countersign" } },
  routes: { authorization: "/oauth/authorize", token: "/oauth/token", introspection: "/oauth/introspect", jwks: "/.well-known/jwks.json" },
  findAccount: (_: unknown, accountId: string) => ({ accountId, claims: () => ({ sub: accountId }) }),
  issueRefreshToken: () => true,
  rotateRefreshToken: true,
  ttl: { AccessToken: 900, ClientCredentials: 900, IdToken: 900, RefreshToken: DAY, Session: DAY, Grant: DAY, AuthorizationCode: 60 },
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    introspection: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => RESOURCE,
      useGrantedResource: () => true,
      getResourceServerInfo: () => resourceServer,
    },
  },
};
const provider = new Provider(`http://localhost:${port}`, configuration);

/** Signs everyone in and has them agree to every client. */
async function signIn(): Promise<void> {
  const now = Math.floor(Date.now() / 1000);
  for (const { email, sessionSecret } of users) {
    const authorizations: Record<string, { sid: string; grantId: string }> = {};
    for (const { clientId } of clients) {
      const grant = new provider.Grant({ accountId: email, clientId });
      grant.addOIDCScope(SCOPE);
      grant.addResourceScope(RESOURCE, OWN_SCOPE);
      authorizations[clientId] = { sid: randomUUID(), grantId: await grant.save() };
    }
    const session = { kind: "Session", jti: sessionSecret, uid: randomUUID(), iat: now, exp: now + DAY, loginTs: now, accountId: email };
    await new RedisAdapter("Session").upsert(sessionSecret, { ...session, authorizations }, DAY);
  }
}

/** Removes what this process has written. */
async function clear(): Promise<void> {
  const plain = new Redis(process.env.REDIS_URL ?? "");
  for await (const keys of plain.scanStream({ match: `bench-${process.pid}:*`, count: 1_000 })) {
    if (keys.length > 0) await plain.unlink(...(keys as string[]));
  }
  await Promise.all([plain.quit(), redis.quit()]);
}

await signIn();
const server = provider.listen(port, "127.0.0.1", () => {
  reportTo(process, port, async () => {
    server.closeAllConnections();
    server.close();
    await clear();
  });
});
