import { AgentError } from "./errors.ts";
import { assertNotAway, type Fetch, fetchJson, textsOf } from "./http.ts";
import { PROOF_ALGORITHM } from "./proof.ts";
import { issuerMetadataUrls, isTrustworthy } from "./urls.ts";

/** What an agent needs of the authorization server's metadata. @see RFC 8414 §2 */
export interface IssuerMetadata {
  readonly tokenEndpoint: string;
  readonly authorizationEndpoint: string | undefined;
  /** Methods of client authentication. */
  readonly methods: readonly string[];
  /** Whether it binds tokens to a key. */
  readonly takesProofs: boolean;
  /** Whether its authorization responses name it. @see RFC 9207 §3 */
  readonly namesItself: boolean;
}

/** How long the metadata is used before it is fetched again, and after that while this fails; and the pause between two attempts. */
const FRESH_MS = 3_600_000;
const USABLE_MS = 86_400_000;
const PAUSE_MS = 10_000;

/**
 * Fetches the metadata of an issuer, and again beside the requests when it is an hour old: tokens at hand work while the issuer is away.
 * @throws {AgentError} server_unreachable, invalid_response, wrong_issuer
 * @see RFC 8414 §3, §3.3
 */
export function issuerMetadata(issuer: string, fetch: Fetch): () => Promise<IssuerMetadata> {
  let known: { readonly metadata: IssuerMetadata; readonly usableUntil: number; freshUntil: number } | undefined;
  let running: Promise<IssuerMetadata> | undefined;
  const renewed = (): Promise<IssuerMetadata> => {
    running ??= loaded(issuer, fetch)
      .then((metadata) => {
        known = { metadata, usableUntil: Date.now() + USABLE_MS, freshUntil: Date.now() + FRESH_MS };
        return metadata;
      })
      .finally(() => {
        running = undefined;
      });
    return running;
  };
  return async () => {
    const now = Date.now();
    if (known === undefined || now >= known.usableUntil) return renewed();
    const { metadata } = known;
    if (now >= known.freshUntil) {
      known.freshUntil = now + PAUSE_MS;
      renewed().catch(() => undefined); // the metadata at hand is still used
    }
    return metadata;
  };
}

async function loaded(issuer: string, fetch: Fetch): Promise<IssuerMetadata> {
  const statuses: number[] = [];
  for (const url of issuerMetadataUrls(issuer)) {
    const { status, body } = await fetchJson(fetch, url).catch((cause: unknown) => {
      throw cause instanceof AgentError && cause.code === "server_unreachable"
        ? new AgentError("server_unreachable", `${issuer} does not answer`, { cause })
        : cause;
    });
    if (status === 200 && body !== undefined) return metadataOf(issuer, body);
    statuses.push(status);
  }
  assertNotAway(issuer, statuses);
  throw new AgentError("invalid_response", `${issuer} has no metadata document: it answered ${statuses.at(-1)}`);
}

function metadataOf(issuer: string, document: Readonly<Record<string, unknown>>): IssuerMetadata {
  if (document.issuer !== issuer)
    throw new AgentError("wrong_issuer", `the metadata of ${issuer} names another issuer, ${String(document.issuer)}`);
  const { token_endpoint: tokenEndpoint, authorization_endpoint: authorizationEndpoint } = document;
  if (typeof tokenEndpoint !== "string" || !isTrustworthy(tokenEndpoint))
    throw new AgentError("invalid_response", `the metadata of ${issuer} has no token endpoint that is https`);
  return {
    tokenEndpoint,
    authorizationEndpoint: typeof authorizationEndpoint === "string" ? authorizationEndpoint : undefined,
    methods: textsOf(document.token_endpoint_auth_methods_supported),
    takesProofs: textsOf(document.dpop_signing_alg_values_supported).includes(PROOF_ALGORITHM),
    namesItself: document.authorization_response_iss_parameter_supported === true,
  };
}
