import { type AuthMethod, type Client, isConfidential } from "../clients/client.ts";
import { usesSecret } from "../clients/coherence.ts";
import { isRefusal, Refusal } from "../errors.ts";
import type { ClientCredential } from "../gen/countersign/token/v1/token_pb.ts";
import { asSecretHash, hashSecret, sameHash } from "../secret.ts";
import { type Assertion, type AssertionPorts, authenticateByAssertion, readAssertion } from "./client-assertion.ts";
import { assertRules, type Rule } from "./policy/rule.ts";
import type { AuthenticationThrottle, CorePorts } from "./ports.ts";

/** Compared with when there is no client or no secret, so that an unknown client costs the same work as a wrong secret. */
const NO_SECRET = asSecretHash(new Uint8Array(32));

export interface Presented {
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

/** At introspection and revocation: a secret, for a client that is registered for one, in the header or in the body (specification §4.8). */
export const anySecretMethod: MethodRule = (client, presented) => usesSecret(client.tokenEndpointAuthMethod) && usesSecret(presented);

/**
 * At the token endpoint: the registered method (specification §4.7); of a metadata document, any that holds for it. Where a secret is
 * registered it may come in the header or in the body, as everywhere: widely used clients post it wherever that is advertised.
 */
export const registeredMethod: MethodRule = (client, presented) =>
  client.tokenEndpointAuthMethod === presented ||
  client.alternativeAuthMethods?.includes(presented) === true ||
  anySecretMethod(client, presented);

/** What a client is judged by that wants to be known. */
export interface ClientFacts {
  readonly presented: Presented;
  readonly client: Client | undefined;
  readonly methodRule: MethodRule;
}

const clientOf = ({ client }: ClientFacts): Client => client ?? refuse("client_unknown");

/** Judged by the work for a known client and an unknown one alike. */
const secretMatches = ({ presented, client }: ClientFacts): boolean =>
  sameHash(hashSecret(presented.secret ?? ""), client?.secretHash ?? NO_SECRET);

const CLIENT_KNOWN: Rule<ClientFacts> = {
  name: "client_known",
  demand: "The client is registered; one of a metadata document was given the code or refresh token that it presents.",
  source: "specification §5",
  assert: clientOf,
};
const METHOD_REGISTERED: Rule<ClientFacts> = {
  name: "method_registered",
  demand: "The client authenticates by the method that it is registered for; a secret may come in the header or in the body.",
  source: "specification §4.7",
  assert: (facts) => {
    if (!facts.methodRule(clientOf(facts), facts.presented.method)) refuse("method_not_registered");
  },
};
const CLIENT_ENABLED: Rule<ClientFacts> = {
  name: "client_enabled",
  demand: "The client is enabled.",
  source: "specification §3",
  assert: (facts) => {
    if (!clientOf(facts).enabled) refuse("client_disabled");
  },
};

/**
 * In order. What proves the client comes last: no address is asked for keys, and no identifier used up, for one that may not authenticate
 * so.
 */
export const CLIENT_RULES = {
  credential: {
    name: "credential",
    demand: "The request names one client, and authenticates it in at most one way.",
    source: "RFC 6749 §2.3, specification §4.7",
  },
  known: CLIENT_KNOWN,
  methodRegistered: METHOD_REGISTERED,
  enabled: CLIENT_ENABLED,
  proven: {
    name: "client_proven",
    demand: "The secret is the client's; or its assertion is signed by its key, for this issuer, for now and for the first time.",
    source: "RFC 6749 §2.3, RFC 7523 §3",
  },
} as const;

/** A secret proves the client whose it is; without one there is nothing to prove. @throws {Refusal} invalid_client */
export function assertSecret(facts: ClientFacts): void {
  const matches = secretMatches(facts);
  if (facts.presented.method !== "none" && !matches) refuse("wrong_secret");
}

export interface AuthenticationPorts extends AssertionPorts {
  readonly clients: CorePorts["clients"];
  readonly throttle: AuthenticationThrottle;
}

/** Whose failures are counted together. */
interface Asker {
  readonly clientId: string;
  readonly address: string;
}

type Throttle = Pick<AuthenticationPorts, "throttle">;

/** Runs `work`; an `invalid_client` counts as a failed authentication. @throws {Refusal} too_many_requests in its place after many of them */
async function countingFailures<Answer>(
  { clientId, address }: Asker,
  { throttle }: Throttle,
  work: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await work();
  } catch (error) {
    if (!isRefusal(error) || error.code !== "invalid_client") throw error;
    throttle.assertOpen(clientId, address);
    await throttle.failed(clientId, address);
    throw error;
  }
}

/**
 * Runs what only a client may request that proves itself. One that is refused because it cannot has failed to authenticate, and is throttled
 * like any other before `work` begins: each of these refusals leaves a record, and anybody can send requests in a public client's name.
 */
export async function countingUnproven<Answer>(
  { client, address }: { readonly client: Client; readonly address: string },
  ports: Throttle,
  work: () => Promise<Answer>,
): Promise<Answer> {
  const { clientId } = client;
  if (!isConfidential(client)) ports.throttle.assertOpen(clientId, address);
  return countingFailures({ clientId, address }, ports, work);
}

/**
 * The client that a request proves to come from. What is right passes also while the client's failures at this address are throttled, so
 * that others at the same address cannot keep a client out; the check is a hash or a signature, and keys are fetched within the budget that
 * there is for each address of keys.
 * @throws {Refusal} invalid_client, alike for unknown, disabled and unproven clients; too_many_requests in its place after many failures
 */
export async function authenticateClient(
  credential: ClientCredential | undefined,
  methodRule: MethodRule,
  ports: AuthenticationPorts,
): Promise<Client> {
  const presented = presentedCredential(credential);
  const { clientId, assertion } = presented;
  const address = credential?.address ?? "";
  return countingFailures({ clientId, address }, ports, async () => {
    const facts = { presented, client: await ports.clients.byClientId(clientId), methodRule };
    const proven = secretMatches(facts);
    assertRules([CLIENT_KNOWN, METHOD_REGISTERED, CLIENT_ENABLED], facts);
    const client = clientOf(facts);
    if (assertion !== undefined) await authenticateByAssertion(assertion, client, ports);
    else if (presented.method !== "none" && !proven) refuse("wrong_secret");
    return client;
  });
}
