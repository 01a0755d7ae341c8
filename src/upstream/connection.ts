import { generateKeyPairSync } from "node:crypto";
import { domainOf } from "../accounts/sign-up-policy.ts";
import { Refusal } from "../errors.ts";
import { merged } from "../merged.ts";
import { openedOrNot, type SecretBox } from "../secret-box.ts";

export type ConnectionProtocol = "oidc" | "github";

/** How the provider authenticates this server. The way of sending a secret follows the provider's metadata. */
export const CONNECTION_AUTH_METHODS = ["client_secret", "private_key_jwt", "none"] as const;
export type ConnectionAuthMethod = (typeof CONNECTION_AUTH_METHODS)[number];

export interface ConnectionSettings {
  /** Shown on buttons. */
  readonly title: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  /** Domains of e-mail addresses for which the provider is trusted: their users may get accounts by it, and are sent to it. In lower case. */
  readonly domains: readonly string[];
  /** Whether the provider's `acr` and `amr` count here. */
  readonly trustsAcr: boolean;
  readonly enabled: boolean;
}

export const SETTING_MEMBERS = ["title", "clientId", "scopes", "domains", "trustsAcr", "enabled"] as const;

/** Also for a disabled one. */
export const connectionUnknown = (): Refusal =>
  new Refusal("not_found", "connection_unknown", { description: "There is no such identity provider." });

/** An identity provider that users sign in by. Times are seconds since the epoch, with their fraction. */
export interface Connection extends ConnectionSettings {
  readonly id: string;
  readonly realmId: string;
  /** In the path of its sign-in. */
  readonly name: string;
  readonly protocol: ConnectionProtocol;
  readonly issuer: string;
  readonly authMethod: ConnectionAuthMethod;
  /** The client secret, or the private JWK as JSON, sealed for `secretPlace`. */
  readonly secret: string | null;
  /** The public JWK of private_key_jwt. */
  readonly publicKey: Readonly<Record<string, unknown>> | null;
  readonly createdAt: number;
  readonly updatedAt: number | null;
}

export type NewConnection = Omit<Connection, "createdAt" | "updatedAt">;

/** The place of a connection's secret in the secret box. */
export const secretPlace = (connectionId: string): string => `connection ${connectionId}`;

export const CONNECTION_NAME = /^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/;

export const PRESETS = ["google", "microsoft", "github", "gitlab"] as const;
export type Preset = (typeof PRESETS)[number];

/** What users see of a connection that they may choose. */
export type OfferedConnection = Pick<Connection, "name" | "title" | "domains">;

type Provider = Pick<Connection, "protocol" | "issuer" | "title" | "scopes">;

const OIDC_SCOPES = ["openid", "email", "profile"];

const PROVIDERS: Readonly<Record<Preset, (tenant: string) => Provider>> = {
  google: () => ({ protocol: "oidc", issuer: "https://accounts.google.com", title: "Google", scopes: OIDC_SCOPES }),
  microsoft: (tenant) => ({
    protocol: "oidc",
    issuer: `https://login.microsoftonline.com/${tenant}/v2.0`,
    title: "Microsoft",
    scopes: OIDC_SCOPES,
  }),
  github: () => ({ protocol: "github", issuer: "https://github.com", title: "GitHub", scopes: ["read:user", "user:email"] }),
  gitlab: () => ({ protocol: "oidc", issuer: "https://gitlab.com", title: "GitLab", scopes: OIDC_SCOPES }),
};

export type Optional<Members> = { readonly [Member in keyof Members]?: Members[Member] | undefined };

export interface ConnectionRequest extends Optional<Omit<ConnectionSettings, "clientId">> {
  readonly clientId: string;
  /** Default: the preset. */
  readonly name?: string | undefined;
  readonly preset?: Preset | undefined;
  /** The directory (tenant) id of Microsoft Entra. */
  readonly tenant?: string | undefined;
  readonly issuer?: string | undefined;
  readonly clientSecret?: string | undefined;
  /** Default: `client_secret`, or `none` without a secret. */
  readonly authMethod?: ConnectionAuthMethod | undefined;
}

export const incoherent = (path: string, message: string): Refusal =>
  new Refusal("invalid_request", "connection_incoherent", { description: "The connection cannot be stored.", issues: [{ path, message }] });

/** Tenants of which every Microsoft account is a member; a mail address proves nothing there. */
const SHARED_TENANTS = ["common", "organizations", "consumers"];

function providerOf({ preset, tenant, issuer, title }: ConnectionRequest): Provider {
  if ((preset === undefined) === (issuer === undefined)) throw incoherent("issuer", "give either preset or issuer");
  if ((tenant !== undefined) !== (preset === "microsoft")) throw incoherent("tenant", "goes with the preset microsoft, which needs it");
  if (tenant !== undefined && SHARED_TENANTS.includes(tenant)) throw incoherent("tenant", "give the id of one directory");
  if (preset !== undefined) return PROVIDERS[preset](tenant ?? "");
  return { protocol: "oidc", issuer: issuer ?? "", title: title ?? new URL(issuer ?? "").host, scopes: OIDC_SCOPES };
}

/** An ID token, by which its users are known, comes with this scope alone. @throws {Refusal} invalid_request with the issue */
function assertScopes({ protocol, scopes }: Pick<Connection, "protocol" | "scopes">): void {
  if (protocol === "oidc" && !scopes.includes("openid")) throw incoherent("scopes", "must have openid");
}

/** Completes a request by its preset and the defaults. Pure. @throws {Refusal} invalid_request with the issue */
export function describedConnection(request: ConnectionRequest): Omit<NewConnection, "id" | "realmId" | "secret" | "publicKey"> {
  const provider = providerOf(request);
  const name = request.name ?? request.preset;
  if (name === undefined) throw incoherent("name", "is required without a preset");
  const authMethod = request.authMethod ?? (request.clientSecret === undefined ? "none" : "client_secret");
  if ((authMethod === "client_secret") !== (request.clientSecret !== undefined))
    throw incoherent("clientSecret", authMethod === "client_secret" ? "is required" : `does not go with authMethod ${authMethod}`);
  const scopes = request.scopes ?? provider.scopes;
  assertScopes({ ...provider, scopes });
  return {
    ...{ name, protocol: provider.protocol, issuer: provider.issuer, clientId: request.clientId, authMethod, scopes },
    title: request.title ?? provider.title,
    domains: request.domains ?? [],
    trustsAcr: request.trustsAcr ?? false,
    enabled: request.enabled ?? true,
  };
}

/** Whether a connection is trusted for the domain of an address. A subdomain is another domain. Pure. */
export const isTrustedFor = ({ domains }: Pick<Connection, "domains">, email: string): boolean => domains.includes(domainOf(email));

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
  const { secret } = connection;
  const place = secretPlace(connection.id);
  if (clientSecret !== undefined && connection.authMethod !== "client_secret")
    throw incoherent("clientSecret", `does not go with authMethod ${connection.authMethod}`);
  const replaced = clientSecret !== undefined && (secret === null || openedOrNot(box, secret, place) !== clientSecret);
  if (change.scopes !== undefined) assertScopes({ protocol: connection.protocol, scopes: change.scopes });
  return { ...merged(connection, change), secret: replaced ? box.seal(clientSecret, place) : secret };
}
