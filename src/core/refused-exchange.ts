import type { AuditEntry } from "../audit.ts";
import { isRefusal, Refusal } from "../errors.ts";
import type { ClientCredential, RefusedTokenExchange } from "../gen/countersign/token/v1/token_pb.ts";
import { TOKEN_EXCHANGE } from "../protocol/grants.ts";
import { presentedCredential } from "./client-authentication.ts";
import type { CorePorts } from "./ports.ts";
import { because } from "./refusal-audit.ts";

/** A token exchange before its agent has proved itself. */
export interface UnprovenExchange {
  readonly credential: ClientCredential | undefined;
  readonly requestId: string;
}

type Ports = Pick<CorePorts, "audit">;

/** The client that a request names, be it in two ways at once. */
function namedClient(credential: ClientCredential | undefined): string | undefined {
  try {
    return presentedCredential(credential).clientId;
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return credential?.basic?.clientId ?? credential?.clientId;
  }
}

/** The record of an exchange that is refused before anything is known of its tokens: the agent that was named is all of the chain. */
const recordOf = (refusal: Refusal, clientId: string, requestId: string): AuditEntry => ({
  event: "token.refused",
  outcome: "failure",
  ...because(refusal),
  actor: { type: "client", id: clientId },
  clientId,
  grantType: TOKEN_EXCHANGE,
  actChain: [clientId],
  requestId,
});

async function recordRefusal(refusal: Refusal, { credential, requestId }: UnprovenExchange, { audit }: Ports): Promise<void> {
  const clientId = namedClient(credential);
  if (clientId !== undefined) await audit.recordUnproven(recordOf(refusal, clientId, requestId), credential?.address ?? "");
}

/** Authenticates the agent of an exchange; a failure leaves its record, or is counted, before the refusal leaves. */
export async function recordingUnproven<Answer>(exchange: UnprovenExchange, ports: Ports, work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work();
  } catch (error) {
    if (isRefusal(error) && error.code === "invalid_client") await recordRefusal(error, exchange, ports);
    throw error;
  }
}

const REASON = /^[a-z][a-z0-9_]{0,63}$/;

/** Refuses an exchange that the front could not read, for the front's reason, once that is recorded. @throws {Refusal} always */
export async function refuseUnreadable(refused: RefusedTokenExchange, exchange: UnprovenExchange, ports: Ports): Promise<never> {
  const { error, reason, description } = refused;
  const refusal = new Refusal(
    error === "invalid_client" ? "invalid_client" : "invalid_request",
    REASON.test(reason) ? reason : "request_unreadable",
    description === undefined ? {} : { description },
  );
  await recordRefusal(refusal, exchange, ports);
  throw refusal;
}
