import { isRefusal, type Refusal } from "../../errors.ts";
import type { TokenCore } from "../../grpc/local.ts";
import { type Form, parseClientCredential } from "../../protocol/form.ts";
import { TOKEN_EXCHANGE } from "../../protocol/grants.ts";
import type { HotContext } from "../http/routes.ts";

/** Reads a form leniently: the first value of each parameter, however it is encoded. */
function lenientForm(text: string): Form & { readonly isExchange: boolean } {
  const parameters = new URLSearchParams(text);
  return {
    get: (name) => parameters.get(name) || undefined,
    all: () => [],
    isExchange: parameters.getAll("grant_type").includes(TOKEN_EXCHANGE),
  };
}

/** The client credential of the request; only the client_id if the credential cannot be read. */
function credentialOf(authorization: string | undefined, form: Form, address: string) {
  try {
    return parseClientCredential(authorization, form, address);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return { address, clientId: form.get("client_id") };
  }
}

/**
 * Has the core record a token exchange that could not be read: every exchange leaves an audit record.
 * @param text the body of the request
 * @returns why the request could not be read, or that no record could be written  @see docs/protocol.md#audit
 */
export async function recordedRefusal(refusal: Refusal, text: string, { req, state }: HotContext, core: TokenCore): Promise<Refusal> {
  const form = lenientForm(text);
  if (!form.isExchange) return refusal;
  const client = credentialOf(req.headers.authorization, form, state.address);
  const { code: error, reason, detail } = refusal;
  const value = { error, reason, description: detail.description };
  try {
    await core.token({ client, requestId: state.requestId, grant: { case: "refusedTokenExchange", value } }, { signal: state.signal });
  } catch (answer) {
    if (!isRefusal(answer)) throw answer;
    // A core of an earlier release does not know this request and refuses it differently.
    if (answer.code === error || answer.code === "temporarily_unavailable") return answer;
  }
  return refusal;
}
