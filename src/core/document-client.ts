import { namesDocument } from "../clients/document-url.ts";
import type { ClientDirectory } from "../clients/ports.ts";
import { Refusal } from "../errors.ts";
import type { TokenRequest } from "../gen/countersign/token/v1/token_pb.ts";
import { assertGrantComplete } from "../protocol/token-request.ts";
import { hashSecret } from "../secret.ts";
import type { CodeBinding, CorePorts } from "./ports.ts";

type Held = Pick<CodeBinding, "clientId" | "documentClient">;

function heldBy(grant: TokenRequest["grant"], core: Pick<CorePorts, "codes" | "families">): Promise<Held | undefined> {
  switch (grant.case) {
    case "authorizationCode":
      return core.codes.byHash(hashSecret(grant.value.code));
    case "refreshToken":
      return core.families.holding(hashSecret(grant.value.refreshToken));
    case "clientCredentials":
    case "tokenExchange":
    case "jwtBearer":
    case undefined:
      return Promise.resolve(undefined);
  }
}

/**
 * Where the token endpoint finds clients: registered ones in the directory, those of metadata documents as they were when the code was
 * issued that the request, or its grant, goes back to. Nothing is fetched here, and a changed document gives nobody else's keys a say in
 * what was granted before.
 * @throws {Refusal} from byClientId, for such a client: invalid_grant when the code or refresh token is not its own, invalid_request
 * @see specification §5, draft-ietf-oauth-client-id-metadata-document §5
 */
export const clientsAtToken = (
  grant: TokenRequest["grant"],
  core: Pick<CorePorts, "clients" | "documents" | "codes" | "families">,
): ClientDirectory => ({
  async byClientId(clientId) {
    const registered = await core.clients.byClientId(clientId);
    if (registered !== undefined || core.documents === undefined || !namesDocument(clientId)) return registered;
    if (grant.case !== "authorizationCode" && grant.case !== "refreshToken") return undefined;
    assertGrantComplete(grant);
    const held = await heldBy(grant, core);
    if (held?.clientId !== clientId || held.documentClient === undefined) throw new Refusal("invalid_grant", "nothing_granted_to_document");
    return held.documentClient;
  },
});
