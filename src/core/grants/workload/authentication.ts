import { type Client, demandsOf } from "../../../clients/client.ts";
import { isAssertionAlgorithm } from "../../../clients/public-keys.ts";
import { Refusal, withoutDescription } from "../../../errors.ts";
import type { ClientCredential, JwtBearerGrant, TokenRequest } from "../../../gen/countersign/token/v1/token_pb.ts";
import { JWT_BEARER } from "../../../protocol/grants.ts";
import { hasForbiddenMember, parseJws, parseObject } from "../../../protocol/jws.ts";
import { ENFORCED, isVerdict, type Rule, type RuleHead, type RuleTrace, withoutDetails } from "../../policy/rule.ts";
import type { Core } from "../../ports.ts";
import { checkWorkload, type KnownWorkload, refusedWorkload, workloadName } from "../../workload/authentication.ts";
import {
  MAX_WORKLOAD_TOKEN,
  WORKLOAD_ALGORITHM,
  WORKLOAD_AUDIENCE,
  WORKLOAD_ID,
  WORKLOAD_IDENTITY,
  WORKLOAD_ISSUER,
  WORKLOAD_SIGNED,
  WORKLOAD_TIME,
  type WorkloadToken,
  workloadToken,
} from "../../workload/rules.ts";
import { GRANT_HELD, PARAMETERS_PRESENT, type Prefetched, type RequestWorkload } from "../grant.ts";
import { isIdentityAssertionType } from "../jwt-bearer/rules.ts";

/**
 * Whether a jwt-bearer request is that of a workload, rather than an identity assertion: by the `typ` of the assertion, before anything
 * else is judged. Each is served only where an operator asked for it.
 * @throws {Refusal} unsupported_grant_type
 */
export async function presentsWorkload(
  { assertion }: Pick<JwtBearerGrant, "assertion">,
  { workloads, identityAssertions }: Pick<Core, "workloads" | "identityAssertions">,
): Promise<boolean> {
  const header = parseJws(assertion, MAX_WORKLOAD_TOKEN)?.header;
  const isOther = header === undefined ? identityAssertions === undefined : !isIdentityAssertionType(header.typ);
  if (isOther && (await workloads.configured())) return true;
  if (identityAssertions !== undefined) return false;
  throw new Refusal("unsupported_grant_type", "grant_not_served", { description: "This grant is not served here." });
}

const NO_CREDENTIAL: Rule<ClientCredential | undefined> = {
  name: "no_client_credential",
  demand: "The request has no credential and no client_id of a client: the token of the platform says which it is.",
  source: "SEP-1933",
  check(credential) {
    const { clientId, basic, clientSecret, assertion } = credential ?? {};
    if ([clientId, basic, clientSecret, assertion].some((each) => each !== undefined))
      throw new Refusal("invalid_grant", "workload_with_client_credential");
  },
};

const WORKLOAD_FORM: Rule<string, WorkloadToken> = {
  name: "workload_form",
  demand: "The assertion is a JWT of a platform: its typ is absent or JWT, and it contains no key.",
  source: "docs/protocol.md#workloads",
  check(text) {
    const parsed = parseJws(text, MAX_WORKLOAD_TOKEN);
    const claims = parsed && parseObject(parsed.payload);
    if (parsed === undefined || claims === undefined) throw new Refusal("invalid_grant", "assertion_malformed");
    const { alg, kid } = parsed.header;
    if (hasForbiddenMember(parsed)) throw new Refusal("invalid_grant", "assertion_brings_its_key");
    if (!isAssertionAlgorithm(alg)) throw new Refusal("invalid_grant", "assertion_algorithm_not_accepted");
    if (kid !== undefined && typeof kid !== "string") throw new Refusal("invalid_grant", "assertion_malformed");
    return workloadToken({ ...parsed, claims }, "grant");
  },
};

const WORKLOAD_CLIENT: Rule<Client | undefined, Client> = {
  name: "workload_client",
  demand: "The client of the identity is registered for workload_jwt and enabled.",
  source: "docs/protocol.md#workload-grant",
  check(client) {
    if (client === undefined) throw new Refusal("unauthorized_client", "client_unknown");
    if (!client.enabled) throw new Refusal("unauthorized_client", "client_disabled");
    const { tokenEndpointAuthMethod: method } = client;
    if (method !== "workload_jwt" || !demandsOf(client).authMethods.includes(method))
      throw new Refusal("unauthorized_client", "method_not_registered");
    return client;
  },
};

export const WORKLOAD_RULES: readonly RuleHead[] = [
  WORKLOAD_FORM,
  WORKLOAD_ISSUER,
  WORKLOAD_ALGORITHM,
  WORKLOAD_AUDIENCE,
  WORKLOAD_TIME,
  WORKLOAD_ID,
  WORKLOAD_SIGNED,
  WORKLOAD_IDENTITY,
  WORKLOAD_CLIENT,
];

export const WORKLOAD_GRANT_AUTHENTICATION: readonly RuleHead[] = [PARAMETERS_PRESENT, NO_CREDENTIAL, ...WORKLOAD_RULES, GRANT_HELD];

/** What is known of a workload while its token is judged, for the record of a refusal. */
type Progress = { known?: KnownWorkload; clientId?: string };

interface Judgement {
  readonly trace?: RuleTrace;
  readonly progress?: Progress;
  /** Whether the platform's keys are used, and fetched if they are not known. */
  readonly checksSignature?: boolean;
}

/** Evaluates the rules about the token of a platform and its client. Uses nothing up. @throws {Refusal} invalid_grant, unauthorized_client */
export async function judgeWorkload(
  text: string,
  core: Core,
  { trace = ENFORCED, progress = {}, checksSignature = true }: Judgement = {},
): Promise<{ readonly client: Client; readonly workload: Required<RequestWorkload> }> {
  // Outsiders learn one code about a token, whatever is wrong with it; its holder learns that it stands for no client.
  const judging = trace.masked(withoutDetails("invalid_grant"));
  const token = judging.check(WORKLOAD_FORM, text);
  const facts = { token, localIssuer: core.issuer, known: await core.workloads.find(token.issuers, token.subject) };
  const issuer = judging.check(WORKLOAD_ISSUER, facts);
  const known = { token, issuer };
  progress.known = known;
  const use = await checkWorkload(known, core, { trace: judging, checksSignature });
  const clientId = trace.masked(withoutDetails("unauthorized_client")).check(WORKLOAD_IDENTITY, { ...facts, issuer });
  progress.clientId = clientId;
  const client = trace.check(WORKLOAD_CLIENT, await core.clients.byClientId(clientId));
  return { client, workload: { name: workloadName({ token, known }), proof: { known, use } } };
}

type GrantPresented = Pick<TokenRequest, "client"> & { readonly grant: { readonly case: "jwtBearer"; readonly value: JwtBearerGrant } };

/** Evaluates every rule before those of the grant itself. Uses nothing up. @throws {Refusal} also invalid_request */
export async function evaluateWorkloadGrant(
  { client: credential, grant }: GrantPresented,
  core: Core,
  { trace = ENFORCED, ...judgement }: Judgement = {},
): ReturnType<typeof judgeWorkload> {
  trace.check(PARAMETERS_PRESENT, { grant });
  trace.masked(withoutDetails("invalid_grant")).check(NO_CREDENTIAL, credential);
  const judged = await judgeWorkload(grant.value.assertion, core, { trace, ...judgement });
  // Without a description, as where the identity stands for no client.
  trace.masked(withoutDescription).check(GRANT_HELD, { client: judged.client, grant });
  return judged;
}

/**
 * The same for the token endpoint: a refusal is recorded, and counts as a failed authentication of the address.
 * @throws {Refusal} invalid_request, invalid_grant, unauthorized_client; too_many_requests after many failures
 */
export async function authenticateByGrant(
  request: GrantPresented & Pick<TokenRequest, "requestId">,
  core: Core,
): Promise<{ readonly client: Client; readonly workload: RequestWorkload; readonly prefetched: Prefetched }> {
  const progress: Progress = {};
  try {
    const { client, workload } = await evaluateWorkloadGrant(request, core, { progress });
    return { client, workload, prefetched: {} };
  } catch (error) {
    if (isVerdict(error)) await recordRefusal(error, progress, request, core);
    throw error;
  }
}

async function recordRefusal(
  refusal: Refusal,
  found: Progress,
  { client: credential, requestId }: Pick<TokenRequest, "client" | "requestId">,
  { throttle, workloads }: Pick<Core, "throttle" | "workloads">,
): Promise<void> {
  const address = credential?.address ?? "";
  throttle.assertOpen("", address);
  const about = { grantType: JWT_BEARER, requestId, ...(address !== "" && { address }) };
  await workloads.recordRefusal(refusedWorkload(refusal, found, about));
  await throttle.failed("", address);
}
