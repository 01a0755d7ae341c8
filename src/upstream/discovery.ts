import * as client from "openid-client";
import { FetchFailure, type GuardedSend } from "../clients/guarded-fetch.ts";
import type { RemoteKeys } from "../clients/public-keys.ts";
import { MAX_AGE, remoteCache } from "../clients/remote-keys.ts";
import { type Clock, systemClock } from "../clock.ts";
import type { SecretBox } from "../secret-box.ts";
import { type Connection, secretPlace } from "./connection.ts";
import { githubMetadata } from "./github.ts";

/** Bytes of a response: metadata, keys, tokens, user information. */
const MAX_BYTES = 262_144;
/** Providers whose metadata is remembered. */
const REMEMBERED = 100;

export interface ProviderPorts {
  readonly fetch: GuardedSend;
  readonly keys: RemoteKeys;
  readonly box: SecretBox;
  readonly clock: Clock;
  /** The redirect URI of a connection. */
  readonly callback: (name: string) => string;
  /** In development: whether a provider may have an http URL on this machine. */
  readonly plainLoopback: boolean;
}

/** The `fetch` of the library: every request passes the guard. */
const fetchOver =
  (guarded: GuardedSend): client.CustomFetch =>
  async (url, { method, headers, body }) => {
    const sent = body instanceof URLSearchParams ? body.toString() : body;
    if (sent !== undefined && sent !== null && typeof sent !== "string" && !(sent instanceof Uint8Array))
      throw new TypeError("a body is text or bytes");
    const request = { url, method: method === "POST" ? "POST" : "GET", headers, body: sent ?? undefined, maxBytes: MAX_BYTES } as const;
    const response = await guarded.send(request);
    return new Response(new Uint8Array(response.body), { status: response.status, headers: response.headers });
  };

async function authenticationOf(connection: Connection, metadata: client.ServerMetadata, box: SecretBox): Promise<client.ClientAuth> {
  const { authMethod, secret, id } = connection;
  if (authMethod === "none" || secret === null) return client.None();
  const plain = box.open(secret, secretPlace(id));
  if (authMethod === "private_key_jwt") {
    const jwk: client.JWK = JSON.parse(plain);
    const algorithm = { name: "ECDSA", namedCurve: "P-256" };
    const key = await crypto.subtle.importKey("jwk", jwk as JsonWebKey, algorithm, false, ["sign"]);
    return client.PrivateKeyJwt(jwk.kid === undefined ? key : { key, kid: jwk.kid });
  }
  const methods = metadata.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
  // Not every provider decodes what RFC 6749 §2.3.1 has clients encode for Basic.
  return methods.includes("client_secret_post") ? client.ClientSecretPost(plain) : client.ClientSecretBasic(plain);
}

/** Reads the metadata of providers. @throws {Error} of the library, or the fetch, when it cannot be used */
export function configurations(ports: ProviderPorts) {
  const custom = fetchOver(ports.fetch);

  /** Seconds by which the library's clock, that of this process, is behind. A second is the rounding of two clocks. */
  const behind = (): number => {
    const seconds = ports.clock() - systemClock();
    return Math.abs(seconds) > 1 ? seconds : 0;
  };

  async function discover(connection: Connection): Promise<client.Configuration> {
    const insecure = ports.plainLoopback && connection.issuer.startsWith("http:") ? [client.allowInsecureRequests] : [];
    const metadata =
      connection.protocol === "github"
        ? githubMetadata
        : (
            await client.discovery(new URL(connection.issuer), connection.clientId, undefined, client.None(), {
              [client.customFetch]: custom,
              execute: insecure,
            })
          ).serverMetadata();
    if (metadata.issuer !== connection.issuer) throw new FetchFailure("document_of_another_issuer");
    const authentication = await authenticationOf(connection, metadata, ports.box);
    const configured = new client.Configuration(metadata, connection.clientId, { [client.clockSkew]: behind() }, authentication);
    configured[client.customFetch] = custom;
    for (const allow of insecure) allow(configured);
    if (connection.protocol === "oidc") client.enableNonRepudiationChecks(configured);
    return configured;
  }

  const known = remoteCache((_key, connection: Connection) => discover(connection), REMEMBERED, ports.clock);

  const nameOf = ({ id, updatedAt }: Connection): string => `${id} ${updatedAt ?? 0} ${behind()}`;

  /** The same, remembered for ten minutes, or until the connection changes. Calls at once share one attempt, and for five seconds its failure, but for want of a place. */
  const configured = (connection: Connection): Promise<client.Configuration> => known.current(nameOf(connection), MAX_AGE, connection);

  return {
    discover,
    configured,
    /** Reads the metadata again, and with the next ID token the keys: at most twice a minute, or five seconds after it failed. @throws as `discover` */
    renew: (connection: Connection): Promise<client.Configuration> => known.refreshed(nameOf(connection), connection),
  };
}
