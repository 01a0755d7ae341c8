import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { WorkloadPorts } from "../../src/core/workload/rules.ts";
import { jws, keyFor, type TestKey } from "./assertions.ts";

/** No operator trusts a platform. */
export const NO_WORKLOADS: WorkloadPorts = {
  find: async () => [],
  configured: async () => false,
  keys: () => ({ source: "", keys: { current: async () => [], refreshed: async () => [] } }),
  recordRefusal: async () => undefined,
};

export interface Platform {
  /** Its issuer identifier, an http URL on this machine; of SPIFFE its trust domain. */
  readonly issuer: string;
  readonly url: string;
  readonly key: TestKey;
  /** Paths of the requests so far. */
  readonly asked: readonly string[];
  /** Replaces what a path answers. */
  answers: Readonly<Record<string, (response: ServerResponse) => void>>;
  /** A token for an audience as the platform makes it, except for the changes in `claims` and `header`. */
  token(audience: unknown, claims?: object, header?: object, by?: TestKey): string;
  close(): Promise<void>;
}

const seconds = () => Math.floor(Date.now() / 1000);

interface PlatformOptions {
  readonly key: TestKey;
  /** A free one if left out. */
  readonly port?: number;
  readonly documents: (url: string) => Readonly<Record<string, object>>;
  readonly issuerOf?: (url: string) => string;
  readonly claims: (issuer: string, now: number) => object;
}

async function platform({ key, port = 0, documents, issuerOf = (url) => url, claims: own }: PlatformOptions): Promise<Platform> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    asked.push(path);
    const replaced = made.answers[path];
    if (replaced !== undefined) return replaced(response);
    const document = documents(made.url)[path];
    response.writeHead(document ? 200 : 404, { "content-type": "application/json" }).end(JSON.stringify(document ?? {}));
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const url = `http://localhost:${(server.address() as AddressInfo).port}`;
  const made: Platform = {
    url,
    issuer: issuerOf(url),
    key,
    asked,
    answers: {},
    token: (audience, claims = {}, header = {}, by = key) =>
      jws({ ...own(made.issuer, seconds()), aud: audience, ...claims }, by, { typ: "JWT", kid: by.jwk.kid, ...header }),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
  return made;
}

const discovery = (key: TestKey, keysPath: string) => (url: string) => ({
  "/.well-known/openid-configuration": { issuer: url, jwks_uri: `${url}${keysPath}` },
  [keysPath]: { keys: [key.jwk] },
});

/** The repository whose workflows `gitHub` makes tokens for. */
export const REPOSITORY = { repository: "acme/agents", repository_id: "7301", environment: "production" } as const;

/** An issuer with the shape of GitHub Actions: each token has a `jti` and lives for five minutes. */
export function gitHub(): Promise<Platform> {
  const key = keyFor("RS256", "gh-1", { use: "sig", alg: "RS256" });
  return platform({
    key,
    documents: discovery(key, "/.well-known/jwks"),
    claims: (iss, now) => ({
      iss,
      sub: `repo:${REPOSITORY.repository}:environment:${REPOSITORY.environment}`,
      jti: randomUUID(),
      iat: now,
      nbf: now - 300,
      exp: now + 300,
      ...REPOSITORY,
      ref: "refs/heads/main",
      event_name: "push",
    }),
  });
}

/** The service account that `kubernetes` makes tokens for. */
export const SERVICE_ACCOUNT = "system:serviceaccount:agents:desk";

/** An issuer with the shape of a cluster's API: the audience is a list, and pods reuse a token until it is renewed. */
export function kubernetes(options: Partial<Pick<PlatformOptions, "key" | "port">> = {}): Promise<Platform> {
  const key = options.key ?? keyFor("RS256", "cluster-1", { use: "sig", alg: "RS256" });
  return platform({
    ...options,
    key,
    documents: discovery(key, "/openid/v1/jwks"),
    claims: (iss, now) => ({
      iss,
      sub: SERVICE_ACCOUNT,
      iat: now,
      nbf: now,
      exp: now + 3_600,
      "kubernetes.io": { namespace: "agents", serviceaccount: { name: "desk", uid: "6f0c" }, pod: { name: "desk-0", uid: "9d2a" } },
    }),
  });
}

/** A trust domain with a bundle endpoint at `/bundle`. Its tokens have neither `iss` nor `jti`. */
export function spire(trustDomain = "spiffe://acme.example"): Promise<Platform> {
  const key = keyFor("ES256", "svid-1", { use: "jwt-svid" });
  const x509 = keyFor("ES256", undefined, { use: "x509-svid", x5c: ["MII"] });
  return platform({
    key,
    documents: () => ({ "/bundle": { keys: [x509.jwk, key.jwk], spiffe_sequence: 1, spiffe_refresh_hint: 60 } }),
    issuerOf: () => trustDomain,
    claims: (issuer, now) => ({ sub: `${issuer}/agents/desk`, iat: now, exp: now + 300 }),
  });
}
