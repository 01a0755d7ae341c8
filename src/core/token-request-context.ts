import type { Client } from "../clients/client.ts";
import { namesDocument } from "../clients/document-url.ts";
import type { ClientDirectory } from "../clients/ports.ts";
import { Refusal } from "../errors.ts";
import type { TokenRequest } from "../gen/countersign/token/v1/token_pb.ts";
import { assertGrantComplete } from "../protocol/grants.ts";
import { hashSecret } from "../secret.ts";
import type { CodeBinding, CodeState, CorePorts, FamilyState } from "./ports.ts";

type Held = Pick<CodeBinding, "clientId" | "documentClient">;

type Sources = Pick<CorePorts, "clients" | "documents" | "codes" | "families">;

/** What a token request rests on, each read once. */
export interface Prefetched {
  readonly clients: ClientDirectory;
  /** The code that the request presents. */
  code(): Promise<CodeState | undefined>;
  /** The family of the refresh token that it presents. */
  family(): Promise<FamilyState | undefined>;
}

/** Begins to read what a grant rests on. */
function readsOf(grant: TokenRequest["grant"], { codes, families }: Sources) {
  const code = grant.case === "authorizationCode" ? codes.byHash(hashSecret(grant.value.code)) : undefined;
  const family = grant.case === "refreshToken" ? families.holding(hashSecret(grant.value.refreshToken)) : undefined;
  const held: Promise<Held | undefined> | undefined = code ?? family;
  held?.catch(() => undefined); // nobody asks for it when the client is refused first
  return { code, family, held };
}

/**
 * Where the token endpoint finds clients: registered ones in the directory, those of metadata documents as they were when the code was
 * issued that the request, or its grant, goes back to. Nothing is fetched here, and a changed document gives nobody else's keys a say in
 * what was granted before. Code or family are read alongside the client, so that the request waits once for both; nothing is read for
 * whoever is turned away before the client is looked for.
 * @throws {Refusal} from byClientId, for such a client: invalid_grant when the code or refresh token is not its own, invalid_request
 * @see specification §5, draft-ietf-oauth-client-id-metadata-document §5
 */
export function prefetch(grant: TokenRequest["grant"], core: Sources): Prefetched {
  let begun: ReturnType<typeof readsOf> | undefined;
  const reads = () => {
    begun ??= readsOf(grant, core);
    return begun;
  };
  const byClientId = async (clientId: string): Promise<Client | undefined> => {
    const { held: holding } = reads();
    const registered = await core.clients.byClientId(clientId);
    if (registered !== undefined || core.documents === undefined || !namesDocument(clientId)) return registered;
    if (holding === undefined) return undefined;
    assertGrantComplete(grant);
    const held = await holding;
    if (held?.clientId !== clientId || held.documentClient === undefined) throw new Refusal("invalid_grant", "nothing_granted_to_document");
    return held.documentClient;
  };
  return { clients: { byClientId }, code: async () => reads().code, family: async () => reads().family };
}
