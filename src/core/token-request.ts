import type { Client } from "../clients/client.ts";
import { namesDocument } from "../clients/document-url.ts";
import { Refusal } from "../errors.ts";
import type { TokenRequest } from "../gen/countersign/token/v1/token_pb.ts";
import { assertGrantComplete } from "../protocol/grants.ts";
import { hashSecret } from "../secret.ts";
import { authenticateAttempt, presentedCredential, registeredMethod } from "./client-authentication.ts";
import type { Prefetched, TokenAnswer } from "./grants/grant.ts";
import { grantOf } from "./grants/registry.ts";
import type { CodeBinding, Core, CorePorts } from "./ports.ts";
import { auditingRefusals, refuseUnauthenticated, refuseUnreadable } from "./refusal-audit.ts";

/**
 * Begins to read the records of a token request in parallel. The client of a metadata document is taken as it was when the code was issued:
 * nothing is fetched, and a changed document does not let other keys use earlier grants.
 * @throws {Refusal} from `client`, for the client of a document: invalid_grant for the code or token of another client, invalid_request
 * @see docs/protocol.md#metadata-documents, draft-ietf-oauth-client-id-metadata-document §5
 */
export function prefetch(
  grant: TokenRequest["grant"],
  clientId: string,
  { clients, documents, codes, families }: Pick<CorePorts, "clients" | "documents" | "codes" | "families">,
): Prefetched {
  const code = grant.case === "authorizationCode" ? codes.byHash(hashSecret(grant.value.code)) : undefined;
  const family = grant.case === "refreshToken" ? families.holding(hashSecret(grant.value.refreshToken)) : undefined;
  const issued: Promise<Pick<CodeBinding, "clientId" | "documentClient"> | undefined> | undefined = code ?? family;
  issued?.catch(() => undefined); // not awaited when the client is refused first
  const find = async (): Promise<Client | undefined> => {
    const registered = await clients.byClientId(clientId);
    if (registered !== undefined || documents === undefined || !namesDocument(clientId)) return registered;
    if (issued === undefined) return undefined;
    assertGrantComplete(grant);
    const binding = await issued;
    if (binding?.clientId !== clientId || binding.documentClient === undefined)
      throw new Refusal("invalid_grant", "nothing_granted_to_document");
    return binding.documentClient;
  };
  return { client: find(), code, family };
}

async function authenticate(grant: TokenRequest["grant"], credential: TokenRequest["client"], core: Core) {
  const presented = presentedCredential(credential);
  const prefetched = prefetch(grant, presented.clientId, core);
  const attempt = { presented, address: credential?.address ?? "", client: prefetched.client, methodRule: registeredMethod };
  return { prefetched, client: await authenticateAttempt(attempt, core) };
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
  const authenticating = authenticate(grant, credential, core);
  if (grant.case === undefined) {
    await authenticating;
    throw new Refusal("unsupported_grant_type", "grant_missing");
  }
  const { refusalAudit, issue } = grantOf(grant);
  const authenticated = await (refusalAudit.unauthenticated
    ? authenticating.catch((error: unknown) => refuseUnauthenticated(error, unauthenticated, core))
    : authenticating);
  const request = { ...authenticated, grant, requestId, refusalDetails: {} };
  return auditingRefusals(refusalAudit, request, credential?.address ?? "", core, () => issue(request, core));
}
