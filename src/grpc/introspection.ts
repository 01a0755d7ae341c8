import type { MessageInitShape } from "@bufbuild/protobuf";
import { Refusal } from "../errors.ts";
import type {
  IntrospectBatchRequest,
  IntrospectBatchResponseSchema,
  IntrospectRequest,
  IntrospectResponse,
  VerifyApiKeyRequest,
  VerifyApiKeyResponse,
} from "../gen/countersign/introspection/v1/introspection_pb.ts";
import { type PresentedCredential, resourceServerCredential } from "./caller-auth.ts";
import type { CallContext, TokenCore } from "./local.ts";
import { authorizationOf, type UnaryCall } from "./served-call.ts";

const BATCH_LIMIT = 100;

export type IntrospectionCall = CallContext & { readonly client: PresentedCredential };

/** IntrospectionService over the token core, for every listener that serves it. */
export function introspectionService(core: Pick<TokenCore, "introspect" | "verifyApiKey">) {
  async function states(tokens: readonly string[], { client, signal }: IntrospectionCall): Promise<IntrospectResponse[]> {
    if (tokens.length === 0) throw new Refusal("invalid_request", "batch_empty", { description: "requests must hold at least one token." });
    if (tokens.length > BATCH_LIMIT)
      throw new Refusal("invalid_request", "batch_too_large", { description: "requests may hold at most 100 tokens." });
    if (tokens.includes("")) throw new Refusal("invalid_request", "token_missing", { description: "token is missing." });
    const { results } = await core.introspect({ client, tokens: [...tokens] }, signal && { signal });
    if (results.length !== tokens.length) throw new Error("the token core answered for another number of tokens");
    return results;
  }
  return {
    async introspect({ token }: IntrospectRequest, call: IntrospectionCall): Promise<IntrospectResponse> {
      const [state] = await states([token], call);
      if (state === undefined) throw new Error("the token core gave no answer");
      return state;
    },
    async introspectBatch(
      { requests }: IntrospectBatchRequest,
      call: IntrospectionCall,
    ): Promise<MessageInitShape<typeof IntrospectBatchResponseSchema>> {
      const tokens = requests.map(({ token }) => token);
      return { responses: await states(tokens, call) };
    },
    async verifyApiKey({ key }: VerifyApiKeyRequest, { client, signal }: IntrospectionCall): Promise<VerifyApiKeyResponse> {
      if (key === "") throw new Refusal("invalid_request", "api_key_missing", { description: "key is missing." });
      const { state } = await core.verifyApiKey({ client, key }, signal && { signal });
      if (state === undefined) throw new Error("the token core gave no answer");
      return state;
    },
  };
}

/** The address in grpc-js' `address:port`; IPv4-mapped IPv6 addresses become IPv4. */
const peerAddress = (peer: string): string => peer.slice(0, Math.max(0, peer.lastIndexOf(":"))).replace(/^::ffff:(?=\d+\.)/, "");

/** The address of a caller, from that of the connection and the values of X-Forwarded-For. */
export type AddressOf = (peer: string, forwarded: readonly string[]) => string;

/** The caller of a gRPC call. @throws {Refusal} invalid_client */
export const asResourceServer = (
  call: Pick<UnaryCall, "metadata" | "getPeer">,
  signal: AbortSignal,
  addressOf: AddressOf,
): IntrospectionCall => {
  const address = addressOf(peerAddress(call.getPeer()), call.metadata.get("x-forwarded-for").map(String));
  return { client: resourceServerCredential(authorizationOf(call), address), signal };
};
