import { AUTH_METHODS, CLIENT_ASSERTION_ALGORITHMS, type GrantType } from "../clients/client.ts";
import { authorizationServerMetadata, type MetadataFacts, openidConfiguration } from "../protocol/metadata.ts";
import { prepareDocument, sendDocument } from "./document.ts";
import { apiErrorPrinter } from "./middleware/errors.ts";
import type { FixedRoute, RouteGroup } from "./routes.ts";

const MAX_AGE = 300;
const SECRET_METHODS = ["client_secret_basic", "client_secret_post"];

export interface DiscoveryOptions extends Pick<MetadataFacts, "issuer" | "scopes" | "idTokenAlgorithms" | "cimdEnabled"> {
  /** The grants that are served: the same list that the token endpoint reads. jwt-bearer is among them while ID_JAG_ENABLED. */
  readonly grantTypes: readonly GrantType[];
}

/**
 * Both discovery documents, for an issuer with a path in all forms in which clients look for them.
 * @see RFC 8414 §3.1, OIDC Discovery §4, specification §2.11
 */
export function discoveryRoutes(options: DiscoveryOptions): RouteGroup {
  const facts: MetadataFacts = {
    ...options,
    authMethods: AUTH_METHODS,
    assertionAlgorithms: CLIENT_ASSERTION_ALGORITHMS,
    secretMethods: SECRET_METHODS,
  };
  const serve = (metadata: object): FixedRoute => {
    const document = prepareDocument(JSON.stringify(metadata), "application/json");
    return {
      cors: true,
      essential: true,
      print: apiErrorPrinter(options.issuer),
      methods: { GET: (ctx) => sendDocument(ctx, document, MAX_AGE) },
    };
  };
  const oauth = serve(authorizationServerMetadata(facts));
  const openid = serve(openidConfiguration(facts));
  const path = new URL(options.issuer).pathname.replace(/\/$/, "");
  const forms = new Set(["", path]);
  return {
    fixed: Object.fromEntries(
      [...forms].flatMap((form) => [
        [`/.well-known/oauth-authorization-server${form}`, oauth],
        [`/.well-known/openid-configuration${form}`, openid],
      ]),
    ),
  };
}
