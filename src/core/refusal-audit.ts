import { type Client, isConfidential } from "../clients/client.ts";
import { isRefusal, type Refusal } from "../errors.ts";
import type { GrantType } from "../protocol/grants.ts";
import type { Core } from "./core.ts";

/** Who asked, and for which grant. */
export interface TokenAsker {
  readonly client: Client;
  readonly grantType: GrantType;
  readonly requestId: string;
}

/** These have left a record with what they ended. */
const ALREADY_REPORTED: readonly string[] = ["code_replayed", "refresh_token_replayed"];

/** A public client proves nothing about itself, so that anybody could fill the trail in its name: what it is refused is counted alone. */
const isWorthAuditing = ({ code, reason }: Refusal, client: Client): boolean =>
  isConfidential(client) && code !== "temporarily_unavailable" && !ALREADY_REPORTED.includes(reason);

/** What a record says of why something was refused. */
export const because = ({ code, reason, detail: { rule } }: Refusal) => ({ reason, error: code, ...(rule !== undefined && { rule }) });

/**
 * Does the work of a token request of a client that has authenticated; a refusal leaves when its record is written.
 * @throws {Refusal} that of the work
 */
export async function auditingRefusals<Answer>(
  { client, grantType, requestId }: TokenAsker,
  { audit }: Pick<Core, "audit">,
  work: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await work();
  } catch (error) {
    if (isRefusal(error) && isWorthAuditing(error, client)) {
      await audit.record({
        event: "token.refused",
        outcome: "failure",
        ...because(error),
        actor: { type: "client", id: client.clientId },
        clientId: client.clientId,
        grantType,
        requestId,
      });
    }
    throw error;
  }
}
