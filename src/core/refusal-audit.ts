import { isConfidential } from "../clients/client.ts";
import { isRefusal, Refusal } from "../errors.ts";
import type { ClientCredential, RefusedTokenExchange } from "../gen/countersign/token/v1/token_pb.ts";
import { GRANTS, TOKEN_EXCHANGE } from "../protocol/grants.ts";
import { countFailure, presentedCredential } from "./client-authentication.ts";
import type { GrantRequest, RefusalAudit } from "./grants/grant.ts";
import { isVerdict } from "./policy/rule.ts";
import type { Core } from "./ports.ts";

/** These refusals have an audit record of the revocation that they caused. */
const ALREADY_RECORDED: readonly string[] = ["code_replayed", "refresh_token_replayed"];

/** The members of an audit record that say why. */
export const because = ({ code, reason, detail: { rule } }: Refusal) => ({ reason, error: code, ...(rule !== undefined && { rule }) });

/**
 * Runs the work of an authenticated token request, and records its refusal before it is thrown. Anyone could fill the log in the name of a
 * public client: its refusals have no record unless the grant says otherwise, and then they count as failed authentication and are
 * throttled before `work` begins.
 * @throws {Refusal} that of the work
 */
export async function auditingRefusals<Answer>(
  { event, publicClients }: RefusalAudit,
  request: GrantRequest,
  address: string,
  core: Core,
  work: () => Promise<Answer>,
): Promise<Answer> {
  const confidential = isConfidential(request.client);
  const { clientId } = request.client;
  if (publicClients && !confidential) core.throttle.assertOpen(clientId, address);
  try {
    return await work();
  } catch (error) {
    if (isVerdict(error) && (publicClients || confidential) && !ALREADY_RECORDED.includes(error.reason))
      await core.audit.record({ ...recordOf(error, clientId, request), event });
    if (publicClients) await countFailure(error, clientId, address, core);
    throw error;
  }
}

const recordOf = (
  refusal: Refusal,
  clientId: string,
  { grant, requestId, refusalDetails }: Omit<GrantRequest, "client" | "prefetched">,
) => ({
  outcome: "failure" as const,
  ...because(refusal),
  actor: { type: "client" as const, id: clientId },
  clientId,
  grantType: GRANTS[grant.case].grantType,
  requestId,
  ...refusalDetails,
});

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
  const entry = {
    event: "token.refused",
    outcome: "failure",
    ...because(refusal),
    actor: { type: "client", id: clientId },
    clientId,
    grantType: TOKEN_EXCHANGE,
    actChain: [clientId],
    requestId,
  } as const;
  await audit.recordUnproven(entry, credential?.address ?? "");
}

/** Records or counts the failed authentication of an exchange's agent. @throws the error, always */
export async function refuseUnauthenticated(error: unknown, exchange: UnauthenticatedExchange, ports: Pick<Core, "audit">): Promise<never> {
  if (isRefusal(error) && error.code === "invalid_client") await recordUnauthenticated(error, exchange, ports);
  throw error;
}

const REASON = /^[a-z][a-z0-9_]{0,63}$/;

/** Records and refuses an exchange that the front could not read, for the front's reason. @throws {Refusal} always */
export async function refuseUnreadable(
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
