import type { AuditEntry } from "../audit.ts";
import { type AuthMethod, type Client, demandsOf, isConfidential } from "../clients/client.ts";
import { usesSecret } from "../clients/coherence.ts";
import { type ClientSources, resolveClient } from "../clients/find-client.ts";
import { isRefusal, refusing } from "../errors.ts";
import type { ClientCredential } from "../gen/countersign/token/v1/token_pb.ts";
import { asSecretHash, hashSecret, sameHash } from "../random.ts";
import { type Assertion, type AssertionPorts, authenticateByAssertion, readAssertion } from "./client-assertion.ts";
import { ENFORCED, isVerdict, type Rule, type RuleTrace } from "./policy/rule.ts";
import type { CorePorts } from "./ports.ts";
import {
  authenticateWorkload,
  documentWorkload,
  type FoundWorkload,
  findWorkload,
  refusedWorkload,
  type WorkloadAuthenticationPorts,
} from "./workload/authentication.ts";
import type { WorkloadToken } from "./workload/rules.ts";

/** Stands in where there is no client or no secret, so that an unknown client takes the same time as a wrong secret. */
const NO_SECRET = asSecretHash(new Uint8Array(32));

export interface Presented {
  readonly method: AuthMethod;
  /** Empty for a workload until its identity is found. */
  readonly clientId: string;
  readonly secret: string | undefined;
  readonly assertion?: Assertion;
  readonly workload?: PresentedWorkload;
}

export type PresentedWorkload = FoundWorkload & { readonly token: WorkloadToken };

const refuse = refusing("invalid_client");

/**
 * Reads which client a request claims to come from, and the one method by which it authenticates. Pure.
 * A Basic header without a secret only names the client. `client_id` in the body beside another method must name the same client; an
 * assertion names the client itself, but for a workload's token: its client is found by `identified`.
 * @throws {Refusal} invalid_client for several methods, contradicting ids or none at all, and for a malformed assertion
 * @see RFC 6749 §2.3, docs/protocol.md#client-authentication
 */
export function presentedCredential(credential: ClientCredential | undefined): Presented {
  const { basic, clientSecret, assertion, clientId } = credential ?? {};
  const methods: AuthMethod[] = [];
  if (basic !== undefined && basic.clientSecret !== "") methods.push("client_secret_basic");
  if (clientSecret !== undefined && clientSecret !== "") methods.push("client_secret_post");
  if (assertion !== undefined) methods.push("private_key_jwt");
  const [method = "none", ...others] = methods;
  if (others.length > 0) refuse("several_methods", "Use one method of client authentication: the request has more than one.");
  if (basic !== undefined && clientId !== undefined && basic.clientId !== clientId) refuse("contradicting_client_ids");
  if (assertion !== undefined) {
    const read = readAssertion(assertion.clientAssertionType, assertion.clientAssertion);
    const named = [basic?.clientId, clientId].filter((id) => id !== undefined && id !== "");
    if ("issuers" in read) return { method: "workload_jwt", clientId: named[0] ?? "", secret: undefined, workload: { token: read } };
    if (named.some((id) => id !== read.clientId)) refuse("contradicting_client_ids");
    return { method, clientId: read.clientId, secret: undefined, assertion: read };
  }
  const named = basic?.clientId ?? clientId;
  if (named === undefined || named === "")
    return refuse("client_not_named", "Client credentials are missing: send client_id, or the header Authorization: Basic.");
  return { method, clientId: named, secret: method === "client_secret_basic" ? basic?.clientSecret : clientSecret };
}

/** Finds the client that the token of a workload stands for; any other credential names it. A refusal is left to the rules. */
export async function identified(
  presented: Presented,
  ports: Pick<WorkloadAuthenticationPorts, "workloads" | "issuer">,
): Promise<Presented> {
  const { clientId: named, workload } = presented;
  if (workload === undefined) return presented;
  const found = await findWorkload(workload.token, named === "" ? undefined : named, ports);
  return { ...presented, clientId: found.clientId ?? named, workload: { ...workload, ...found } };
}

/** Whether the client may use the presented method at this endpoint. */
export type MethodRule = (client: Client, presented: AuthMethod) => boolean;

/** At introspection and revocation: a secret in the header or the body, for a client that is registered for either (RFC 7662 §2.1). */
export const anySecretMethod: MethodRule = (client, presented) => usesSecret(client.tokenEndpointAuthMethod) && usesSecret(presented);

/**
 * At the token endpoint: the registered method, or any that a metadata document lists. A registered secret may come in the header or in the
 * body, because widely used clients post it wherever that is advertised.
 * @see docs/protocol.md#client-authentication
 */
export const registeredMethod: MethodRule = (client, presented) =>
  client.tokenEndpointAuthMethod === presented ||
  client.alternativeAuthMethods?.includes(presented) === true ||
  anySecretMethod(client, presented);

type ClientFacts = Pick<ClientAttempt, "presented" | "methodRule"> & { readonly client: Client };

/** In order. The proof comes last: no key is fetched and no identifier used up for a client that may not authenticate this way. */
export const CLIENT_RULES = {
  credential: {
    name: "credential",
    demand: "The request names one client, and authenticates it in at most one way.",
    source: "RFC 6749 §2.3",
    check: presentedCredential,
  } satisfies Rule<ClientCredential | undefined, Presented>,
  found: {
    name: "client_known",
    demand:
      "The client is registered; one of a metadata document was given the code or refresh token that it presents; a workload's token has the identity of one client.",
    source: "docs/protocol.md#metadata-documents",
  },
  methodRegistered: {
    name: "method_registered",
    demand: "The client authenticates by the method that it is registered for; a secret may come in the header or in the body.",
    source: "docs/protocol.md#client-authentication",
    check: ({ client, presented, methodRule }) => methodRule(client, presented.method) || refuse("method_not_registered"),
  } satisfies Rule<ClientFacts>,
  enabled: {
    name: "client_enabled",
    demand: "The client is enabled.",
    source: "docs/protocol.md#client-authentication",
    check: ({ client }) => client.enabled || refuse("client_disabled"),
  } satisfies Rule<ClientFacts>,
  inProfile: {
    name: "security_profile",
    demand: "A client with a security profile authenticates by a method and an algorithm of that profile.",
    source: "docs/protocol.md#security-profile",
    conditional: true,
    check: ({ client, presented: { method, assertion } }) => {
      const { authMethods, algorithms } = demandsOf(client);
      if (!authMethods.includes(method)) refuse("method_not_in_profile");
      if (assertion !== undefined && !algorithms.includes(String(assertion.header.alg))) refuse("algorithm_not_in_profile");
    },
  } satisfies Rule<ClientFacts>,
  proven: {
    name: "client_proven",
    demand:
      "The secret is the client's; or its assertion, or its workload's token, is signed by its key or platform, for this issuer, valid now and not used before.",
    source: "RFC 6749 §2.3, RFC 7523 §3, docs/protocol.md#workloads",
  },
} as const;

export interface ClientAttempt {
  readonly presented: Presented;
  /** Address of the caller; failures are counted per client and address. */
  readonly address: string;
  /** The client that the request names, once it is read. */
  readonly client: Promise<Client | undefined>;
  readonly methodRule: MethodRule;
  /** The request, for the record of a refused workload. */
  readonly about?: Pick<AuditEntry, "requestId" | "grantType">;
}

/** How an attempt is evaluated: by the endpoint, or by `explain`, whose ports use nothing up. */
interface Evaluation {
  readonly trace: RuleTrace;
  /** Whether the proof of a confidential client that presents nothing is assumed. */
  readonly assumesProof: boolean;
}

async function findClient({ presented, client: pending }: Pick<ClientAttempt, "presented" | "client">) {
  pending.catch(() => undefined); // not awaited when the workload is refused
  if (presented.workload?.refusal !== undefined) throw presented.workload.refusal;
  const client = await pending;
  const secretMatches = sameHash(hashSecret(presented.secret ?? ""), client?.secretHash ?? NO_SECRET);
  return { client: client ?? refuse("client_unknown"), secretMatches };
}

/** Evaluates the rules of client authentication. @throws {Refusal} invalid_client */
export async function evaluateClient(
  attempt: Pick<ClientAttempt, "presented" | "client" | "methodRule">,
  ports: ProofPorts,
  { trace, assumesProof }: Evaluation,
): Promise<Client> {
  const { presented, methodRule } = attempt;
  const { client, secretMatches } = await trace.settle(CLIENT_RULES.found, findClient(attempt));
  const assumed = assumesProof && isConfidential(client) && presented.method === "none" && !registeredMethod(client, "none");
  const facts = { presented, client, methodRule };
  if (assumed) trace.assume(CLIENT_RULES.methodRegistered);
  else trace.check(CLIENT_RULES.methodRegistered, facts);
  trace.check(CLIENT_RULES.enabled, facts);
  if (client.securityProfile && assumed) trace.assume(CLIENT_RULES.inProfile);
  else if (client.securityProfile) trace.check(CLIENT_RULES.inProfile, facts);
  if (assumed) trace.assume(CLIENT_RULES.proven);
  else await trace.settle(CLIENT_RULES.proven, prove(presented, client, secretMatches, ports));
  return client;
}

async function prove({ method, assertion, workload }: Presented, client: Client, secretMatches: boolean, ports: ProofPorts) {
  if (workload !== undefined) await authenticateWorkload(workload.known ?? documentWorkload(workload.token, client), ports);
  else if (assertion !== undefined) await authenticateByAssertion(assertion, client, ports);
  else if (method !== "none" && !secretMatches) refuse("wrong_secret");
}

type ProofPorts = AssertionPorts & WorkloadAuthenticationPorts;

export type AuthenticationPorts = ProofPorts & Pick<CorePorts, "clients" | "throttle">;

/** Counts an `invalid_client` as a failed authentication. @throws the error, or {Refusal} too_many_requests after many failures */
export async function countFailure(
  error: unknown,
  clientId: string,
  address: string,
  { throttle }: Pick<AuthenticationPorts, "throttle">,
): Promise<never> {
  if (isRefusal(error) && error.code === "invalid_client") {
    throttle.assertOpen(clientId, address);
    await throttle.failed(clientId, address);
  }
  throw error;
}

/**
 * Authenticates a client whose record is being read. A valid credential passes even while the client's failures at this address are
 * throttled, so that others at the same address cannot lock the client out.
 * @throws {Refusal} invalid_client, the same for unknown, disabled and unproven clients; too_many_requests after many failures
 */
export async function authenticateAttempt(attempt: ClientAttempt, ports: Omit<AuthenticationPorts, "clients">): Promise<Client> {
  try {
    return await evaluateClient(attempt, ports, { trace: ENFORCED, assumesProof: false });
  } catch (error) {
    const { presented, address, about } = attempt;
    if (presented.workload !== undefined && isVerdict(error))
      await ports.workloads.recordRefusal(refusedWorkload(error, presented.workload, { ...(address !== "" && { address }), ...about }));
    return countFailure(error, presented.clientId, address, ports);
  }
}

/**
 * Reads a credential and authenticates its client.
 * @param find begins to read the record of the client
 * @throws {Refusal} as `presentedCredential` and `authenticateAttempt`
 */
export async function authenticateClient(
  credential: ClientCredential | undefined,
  methodRule: MethodRule,
  ports: AuthenticationPorts,
  find = ports.clients.byClientId,
): Promise<Client> {
  const presented = await identified(presentedCredential(credential), ports);
  const client = find(presented.clientId);
  return authenticateAttempt({ presented, address: credential?.address ?? "", client, methodRule }, ports);
}

/**
 * Authenticates the client of a request that needs no earlier grant. A metadata document is fetched, unlike at the token endpoint.
 * @param address of the caller, whose fetches are counted
 * @throws {Refusal} as `presentedCredential` and `authenticateAttempt`
 */
export const authenticatedClient = (
  credential: ClientCredential | undefined,
  address: string,
  core: AuthenticationPorts & ClientSources,
): Promise<Client> => authenticateClient(credential, registeredMethod, core, (clientId) => resolveClient(clientId, address, core));
