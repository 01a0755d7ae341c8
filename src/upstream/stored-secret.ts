import { generateKeyPairSync } from "node:crypto";
import { openedOrNot, type SecretBox } from "../secret-box.ts";
import {
  assertScopes,
  type Connection,
  type ConnectionRequest,
  type ConnectionSettings,
  describedConnection,
  incoherent,
  type NewConnection,
  type Optional,
  secretPlace,
} from "./connection.ts";

/** A key pair for private_key_jwt. The key id is that of the connection, so that both sides can name it. */
function newKey(id: string): { readonly secret: string; readonly publicKey: Readonly<Record<string, unknown>> } {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const about = { kid: id, alg: "ES256", use: "sig" };
  return {
    secret: JSON.stringify({ ...privateKey.export({ format: "jwk" }), ...about }),
    publicKey: { ...publicKey.export({ format: "jwk" }), ...about },
  };
}

/** A connection with its secret sealed, or with a new key pair. @throws {Refusal} invalid_request with the issue */
export function newConnection(request: ConnectionRequest, id: string, realmId: string, box: SecretBox): NewConnection {
  const described = { ...describedConnection(request), id, realmId };
  const seal = (plain: string) => box.seal(plain, secretPlace(id));
  if (described.authMethod === "private_key_jwt") {
    const { secret, publicKey } = newKey(id);
    return { ...described, secret: seal(secret), publicKey };
  }
  return { ...described, secret: request.clientSecret === undefined ? null : seal(request.clientSecret), publicKey: null };
}

/** Changes of a connection: members that are undefined stay as they are. */
export type ConnectionChange = Optional<ConnectionSettings & { readonly clientSecret: string }>;

/**
 * The settings of a connection after a change. A secret that equals the stored one keeps its sealed text.
 * @throws {Refusal} invalid_request with the issue, also for a secret where the connection has none
 */
export function changedConnection(
  connection: Connection,
  { clientSecret, ...change }: ConnectionChange,
  box: SecretBox,
): ConnectionSettings & { readonly secret: string | null } {
  const { title, clientId, scopes, domains, trustsAcr, enabled, secret, id } = connection;
  const place = secretPlace(id);
  if (clientSecret !== undefined && connection.authMethod !== "client_secret")
    throw incoherent("clientSecret", `does not go with authMethod ${connection.authMethod}`);
  const replaced = clientSecret !== undefined && (secret === null || openedOrNot(box, secret, place) !== clientSecret);
  if (change.scopes !== undefined) assertScopes({ protocol: connection.protocol, scopes: change.scopes });
  const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
  return {
    ...{ title, clientId, scopes, domains, trustsAcr, enabled },
    ...given,
    secret: replaced ? box.seal(clientSecret, place) : secret,
  };
}
