import type { AuthMethod, Client } from "../clients/client.ts";
import { isRefusal, Refusal } from "../errors.ts";
import type { ClientCredential } from "../gen/countersign/token/v1/token_pb.ts";
import { asSecretHash, hashSecret, sameHash } from "../secret.ts";
import { type Assertion, type AssertionPorts, proveByAssertion, readAssertion } from "./client-assertion.ts";
import type { AuthenticationThrottle, CorePorts } from "./ports.ts";

/** Compared with when there is no client or no secret, so that an unknown client costs the same work as a wrong secret. */
const NO_SECRET = asSecretHash(new Uint8Array(32));

interface Presented {
  readonly method: AuthMethod;
  readonly clientId: string;
  readonly secret: string | undefined;
  readonly assertion?: Assertion;
}

const refuse = (reason: string): never => {
  throw new Refusal("invalid_client", reason);
};

/**
 * Which client a request claims to be, and by which one method. Pure.
 * A Basic header without a secret only names the client. `client_id` in the body beside another method must name the same client; an
 * assertion names it by itself.
 * @throws {Refusal} invalid_client for several methods, contradicting ids or none at all, and for an assertion whose form is bad
 * @see RFC 6749 §2.3, specification §4.7
 */
export function presentedCredential(credential: ClientCredential | undefined): Presented {
  const { basic, clientSecret, assertion, clientId } = credential ?? {};
  const methods: AuthMethod[] = [];
  if (basic !== undefined && basic.clientSecret !== "") methods.push("client_secret_basic");
  if (clientSecret !== undefined && clientSecret !== "") methods.push("client_secret_post");
  if (assertion !== undefined) methods.push("private_key_jwt");
  const [method = "none", ...others] = methods;
  if (others.length > 0) refuse("several_methods");
  if (basic !== undefined && clientId !== undefined && basic.clientId !== clientId) refuse("contradicting_client_ids");
  if (assertion !== undefined) {
    const read = readAssertion(assertion.clientAssertionType, assertion.clientAssertion);
    const named = [basic?.clientId, clientId].filter((id) => id !== undefined && id !== "");
    if (named.some((id) => id !== read.clientId)) refuse("contradicting_client_ids");
    return { method, clientId: read.clientId, secret: undefined, assertion: read };
  }
  const named = basic?.clientId ?? clientId;
  if (named === undefined || named === "") return refuse("client_not_named");
  return { method, clientId: named, secret: method === "client_secret_basic" ? basic?.clientSecret : clientSecret };
}

/** Whether the presented method is one that the client may use here. */
export type MethodRule = (client: Client, presented: AuthMethod) => boolean;

/** At the token endpoint: the registered method, exactly (specification §4.7); of a metadata document, any that holds for it. */
export const exactMethod: MethodRule = (client, presented) =>
  client.tokenEndpointAuthMethod === presented || client.alternativeAuthMethods?.includes(presented) === true;

const SECRET_METHODS: readonly AuthMethod[] = ["client_secret_basic", "client_secret_post"];

/** At introspection and revocation: either secret method, for a client registered for either (specification §4.8). */
export const anySecretMethod: MethodRule = (client, presented) =>
  SECRET_METHODS.includes(client.tokenEndpointAuthMethod) && SECRET_METHODS.includes(presented);

function assertSecret(presented: Presented, client: Client | undefined): void {
  const matches = sameHash(hashSecret(presented.secret ?? ""), client?.secretHash ?? NO_SECRET);
  if (presented.method !== "none" && !matches) refuse(client === undefined ? "client_unknown" : "wrong_secret");
}

export interface AuthenticationPorts extends AssertionPorts {
  readonly clients: CorePorts["clients"];
  readonly throttle: AuthenticationThrottle;
}

/**
 * The client that a request proves to come from. An assertion is looked into only when it could count: no address is asked for keys, and
 * no identifier used up, for a client that may not authenticate so.
 * @throws {Refusal} invalid_client, alike for unknown, disabled and unproven clients; too_many_requests after many failures
 */
export async function authenticateClient(
  credential: ClientCredential | undefined,
  rule: MethodRule,
  ports: AuthenticationPorts,
): Promise<Client> {
  const presented = presentedCredential(credential);
  const { clientId, method, assertion } = presented;
  const address = credential?.address ?? "";
  ports.throttle.assertOpen(clientId, address);
  const client = await ports.clients.byClientId(clientId);
  try {
    if (assertion === undefined) assertSecret(presented, client);
    if (client === undefined) return refuse("client_unknown");
    if (!rule(client, method)) refuse("method_not_registered");
    if (!client.enabled) refuse("client_disabled");
    if (assertion !== undefined) await proveByAssertion(assertion, client, ports);
    return client;
  } catch (error) {
    if (isRefusal(error) && error.code === "invalid_client") await ports.throttle.failed(clientId, address);
    throw error;
  }
}
