import { type Client, demandsOf, isConfidential } from "../clients/client.ts";
import { namesDocument } from "../clients/find-client.ts";
import { isRefusal, Refusal } from "../errors.ts";
import type { ClientCredential, DpopProof, RefusedTokenExchange, TokenRequest } from "../gen/countersign/token/v1/token_pb.ts";
import { isAbsoluteUri, MAX_RESOURCES } from "../protocol/access.ts";
import { assertGrantComplete, GRANTS, type GrantCase, TOKEN_EXCHANGE } from "../protocol/grants.ts";
import { hashSecret } from "../random.ts";
import { authenticateAttempt, countFailure, identified, presentedCredential, registeredMethod } from "./client-authentication.ts";
import { DPOP_PROOF, type ProvenKey, refuseProof, verifyProof } from "./dpop.ts";
import { usingProof, withEntries } from "./effects.ts";
import { authorizationCode } from "./grants/authorization-code/grant.ts";
import { clientCredentials } from "./grants/client-credentials/grant.ts";
import { deviceCode } from "./grants/device-code/grant.ts";
import { type Grant, type GrantRequest, type Prefetched, type RefusalAudit, refusalRecord, type TokenAnswer } from "./grants/grant.ts";
import { jwtBearer } from "./grants/jwt-bearer/grant.ts";
import { refreshToken } from "./grants/refresh-token/grant.ts";
import { tokenExchange } from "./grants/token-exchange/grant.ts";
import { authenticateByGrant, presentsWorkload } from "./grants/workload/authentication.ts";
import { workloadGrant } from "./grants/workload/grant.ts";
import { ENFORCED, isVerdict } from "./policy/rule.ts";
import type { Core, CorePorts } from "./ports.ts";
import type { DeviceState } from "./stored-grants.ts";
import { workloadName } from "./workload/authentication.ts";

/** Rules and handlers of every grant. protocol/grants.ts has its names and parameters; neither compiles without the other's row. */
const REGISTRY: { readonly [Case in GrantCase]: Grant<Case> } = {
  authorizationCode,
  refreshToken,
  clientCredentials,
  tokenExchange,
  jwtBearer,
  deviceCode,
};

/** The same for requests whose grant is known only at run time: each is given to the row of its own case. */
const GRANT_ROWS = REGISTRY as { readonly [Case in GrantCase]: Grant<GrantCase> };

/** @param isWorkload whether a jwt-bearer request presents the token of a platform */
export const rowOf = (grant: GrantCase, isWorkload: boolean): Grant<GrantCase> =>
  isWorkload ? (workloadGrant as Grant<GrantCase>) : GRANT_ROWS[grant];

/**
 * Begins to read the records of a token request in parallel. The client of a metadata document is taken as it was when the code was issued:
 * nothing is fetched, and a changed document does not let other keys use earlier grants.
 * @throws {Refusal} from `client`, for the client of a document: invalid_grant for the code or token of another client, invalid_request
 * @see docs/protocol.md#metadata-documents, draft-ietf-oauth-client-id-metadata-document §5
 */
export function prefetch(
  grant: TokenRequest["grant"],
  clientId: string,
  { clients, documents, codes, devices, families }: Pick<CorePorts, "clients" | "documents" | "codes" | "devices" | "families">,
): Prefetched & { readonly client: Promise<Client | undefined> } {
  const codeHash = grant.case === "deviceCode" ? hashSecret(grant.value.deviceCode) : undefined;
  const device = codeHash && devices.byDeviceCode(codeHash);
  const code = grant.case === "authorizationCode" ? codes.byHash(hashSecret(grant.value.code)) : codeHash && codes.byHash(codeHash);
  const family = grant.case === "refreshToken" ? families.holding(hashSecret(grant.value.refreshToken)) : undefined;
  const issued: IssuedBinding | undefined = device ?? code ?? family;
  for (const reading of [device, code, family]) reading?.catch(() => undefined); // not awaited when the client is refused first
  const registered = clients.byClientId(clientId);
  const client =
    documents === undefined || issued === undefined || !namesDocument(clientId)
      ? registered
      : registered.then((found) => found ?? documentClient(clientId, grant, issued));
  return { client, code, device, family };
}

const CONFIDENTIAL_ONLY: RefusalAudit = { event: "token.refused", publicClients: false, unauthenticated: false };

type IssuedBinding = Promise<Pick<DeviceState, "clientId" | "documentClient"> | undefined>;

/** The client of a metadata document as it is stored with the code or refresh token that the request presents. */
async function documentClient(clientId: string, grant: TokenRequest["grant"], issued: IssuedBinding): Promise<Client> {
  assertGrantComplete({ grant });
  const binding = await issued;
  if (binding?.clientId !== clientId || !binding.documentClient) throw new Refusal("invalid_grant", "nothing_granted_to_document");
  return binding.documentClient;
}

type ReadableRequest = Pick<TokenRequest, "client" | "requestId"> & {
  readonly grant: Exclude<TokenRequest["grant"], { readonly case: "refusedTokenExchange" }>;
};

async function authenticate({ grant, client: credential, requestId }: ReadableRequest, core: Core) {
  const presented = await identified(presentedCredential(credential), core);
  const { client: found, ...prefetched } = prefetch(grant, presented.clientId, core);
  const about = { requestId, ...(grant.case && { grantType: GRANTS[grant.case].grantType }) };
  const attempt = { presented, address: credential?.address ?? "", client: found, methodRule: registeredMethod, about };
  const client = await authenticateAttempt(attempt, core);
  return { prefetched, client, ...(presented.workload && { workload: { name: workloadName(presented.workload) } }) };
}

/**
 * Authenticates the client of a token request and answers it by the row of its grant.
 * @throws {Refusal} of authentication and grant, once recorded; unsupported_grant_type, temporarily_unavailable
 * @see RFC 6749 §3.2
 */
export async function answerTokenRequest({ client: credential, requestId, grant }: TokenRequest, core: Core): Promise<TokenAnswer> {
  const unauthenticated = { credential, requestId };
  if (grant.case === "refusedTokenExchange") return refuseUnreadable(grant.value, unauthenticated, core);
  core.keys.signing().hybrid?.assertOpen(); // before anything is consumed
  const isWorkload = grant.case === "jwtBearer" && (await presentsWorkload(grant.value, core));
  const authenticating = isWorkload
    ? authenticateByGrant({ client: credential, requestId, grant }, core)
    : authenticate({ client: credential, requestId, grant }, core);
  if (grant.case === undefined) {
    await authenticating;
    throw new Refusal("unsupported_grant_type", "grant_missing");
  }
  const { refusalAudit = CONFIDENTIAL_ONLY, issue } = rowOf(grant.case, isWorkload);
  const authenticated = await (refusalAudit.unauthenticated
    ? authenticating.catch((error: unknown) => refuseUnauthenticated(error, unauthenticated, core))
    : authenticating);
  const request = { ...authenticated, grant, requestId, refusalDetails: {} };
  const address = credential?.address ?? "";
  if (refusalAudit.publicClients && !isConfidential(request.client)) core.throttle.assertOpen(request.client.clientId, address);
  try {
    const proven = await provenKey(request, credential, core);
    const { workload } = authenticated;
    const named = workload === undefined ? core : withEntries(core, (entry) => ({ ...entry, ...workload.name }));
    if (proven === undefined) return await issue(request, named);
    const confirmed = { ...request, confirmation: { jkt: proven.jkt } };
    const answer = await usingProof(proven, grant.case, named, (own) => issue(confirmed, own));
    return proven.dpopNonce === undefined ? answer : { ...answer, dpopNonce: proven.dpopNonce };
  } catch (error) {
    await recordRefusal(error, request, address, refusalAudit, core);
    throw error;
  }
}

/**
 * Checks the proof of possession of an authenticated request.
 * @returns undefined without one where none is demanded, and for a public client that presents no code or refresh token that is known:
 * nothing is written for requests that anyone can send
 * @throws {Refusal} invalid_dpop_proof, use_dpop_nonce  @see RFC 9449 §5, §8
 */
async function provenKey(
  { client, prefetched: { code, device, family } }: GrantRequest,
  credential: ClientCredential | undefined,
  core: Core,
): Promise<ProvenKey | undefined> {
  if (credential?.dpop === undefined) {
    if (demandsOf(client).boundTokens) ENFORCED.check({ ...DPOP_PROOF, check: () => refuseProof("dpop_missing") }, undefined);
    return undefined;
  }
  const proven = ENFORCED.check(
    { ...DPOP_PROOF, check: (proof: DpopProof) => verifyProof(proof, core, demandsOf(client)) },
    credential.dpop,
  );
  const issued = code ?? device ?? family;
  return !isConfidential(client) && (await issued) === undefined ? undefined : proven;
}

/** Of these refusals the revocation that they caused has a record, or they are a step of the protocol: a poll, or the first of two requests. */
const UNRECORDED: readonly string[] = [
  "code_replayed",
  "refresh_token_replayed",
  "device_undecided",
  "polled_too_soon",
  "dpop_nonce_differs",
];

/**
 * Records the refusal of an authenticated token request before it is thrown. Anyone could fill the log in the name of a public client: its
 * refusals have no record unless the grant says otherwise, and then they count as failed authentication and are throttled.
 */
async function recordRefusal(error: unknown, request: GrantRequest, address: string, audit: RefusalAudit, core: Core): Promise<void> {
  const { publicClients, event } = audit;
  const { client, grant, requestId, workload, refusalDetails } = request;
  const { clientId } = client;
  if (isVerdict(error) && (publicClients || isConfidential(client)) && !UNRECORDED.includes(error.reason)) {
    const { grantType } = GRANTS[grant.case];
    const about = { clientId, grantType, requestId, ...namedResources(grant.value), ...workload?.name, ...refusalDetails };
    await core.audit.record(refusalRecord(event, error, about));
  }
  if (publicClients) await countFailure(error, clientId, address, core);
}

/** The resources that a request named. They were not judged yet, so that only what has the form of one is recorded. */
function namedResources({ resource }: { readonly resource: readonly string[] }): { readonly resources?: readonly string[] } {
  const named = resource.filter((uri) => uri.length <= 2_000 && isAbsoluteUri(uri));
  return named.length === 0 ? {} : { resources: [...new Set(named)].slice(0, MAX_RESOURCES) };
}

type UnauthenticatedExchange = { readonly credential: ClientCredential | undefined; readonly requestId: string };

/** The client that a request names, even in a credential that is refused. */
function namedClient(credential: ClientCredential | undefined): string | undefined {
  try {
    return presentedCredential(credential).clientId;
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return credential?.basic?.clientId ?? credential?.clientId;
  }
}

/** Records an exchange that is refused before its tokens are read: the named agent is the whole chain. */
async function recordUnauthenticated(
  refusal: Refusal,
  { credential, requestId }: UnauthenticatedExchange,
  { audit }: Pick<Core, "audit">,
): Promise<void> {
  const clientId = namedClient(credential);
  if (clientId === undefined) return;
  const about = { clientId, grantType: TOKEN_EXCHANGE, actChain: [clientId], requestId };
  await audit.recordUnproven(refusalRecord("token.refused", refusal, about), credential?.address ?? "");
}

/** How a failed authentication is answered: at first, and after many. */
const UNAUTHENTICATED: readonly string[] = ["invalid_client", "too_many_requests"];

/** Records or counts the failed authentication of an exchange's agent. @throws the error, always */
async function refuseUnauthenticated(error: unknown, exchange: UnauthenticatedExchange, ports: Pick<Core, "audit">): Promise<never> {
  if (isRefusal(error) && UNAUTHENTICATED.includes(error.code)) await recordUnauthenticated(error, exchange, ports);
  throw error;
}

const REASON = /^[a-z][a-z0-9_]{0,63}$/;

/** Records and refuses an exchange that the front could not read, for the front's reason. @throws {Refusal} always */
async function refuseUnreadable(
  { error, reason, description }: RefusedTokenExchange,
  exchange: UnauthenticatedExchange,
  ports: Pick<Core, "audit">,
): Promise<never> {
  const refusal = new Refusal(
    error === "invalid_client" ? "invalid_client" : "invalid_request",
    REASON.test(reason) ? reason : "request_unreadable",
    description === undefined ? {} : { description },
  );
  await recordUnauthenticated(refusal, exchange, ports);
  throw refusal;
}
