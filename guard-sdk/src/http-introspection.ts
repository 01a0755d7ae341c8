import { fetchObject } from "./fetch-object.ts";
import { introspecting } from "./introspection.ts";
import { fetchMetadata, trustworthyUrl } from "./issuer-document.ts";
import { assertOptions, type OptionTable, TEXT } from "./option-table.ts";
import { ASKING, basicCredential, checkedTimeout, type ResourceServer } from "./resource-server.ts";
import { onlyIssuer, type Verification } from "./verification.ts";

export interface IntrospectionOptions extends ResourceServer {
  /** Where tokens are introspected. Default: what the metadata document of the authorization server names. */
  readonly endpoint?: string;
  /** Seconds that a question may take, looking for the endpoint included. Default 2. */
  readonly timeoutSeconds?: number;
}

const OPTIONS: OptionTable<IntrospectionOptions> = { ...ASKING, endpoint: TEXT };

/**
 * Verification by introspection over HTTP: the authorization server is asked about each token, so that what is revoked ends here within
 * ten seconds. The credential goes in the header, the token in the body.
 * @throws {TypeError} when an option is wrong
 * @see RFC 7662 §2.1, docs/protocol.md#introspection
 */
export function introspection(options: IntrospectionOptions): Verification {
  assertOptions("introspection", options, OPTIONS);
  const headers = { authorization: basicCredential(options), "content-type": "application/x-www-form-urlencoded" };
  const timeout = checkedTimeout(options.timeoutSeconds ?? 2);
  const given = options.endpoint === undefined ? undefined : trustworthyUrl(options.endpoint, "endpoint").href;
  return (settings) => {
    const endpoint = endpointOf(onlyIssuer(settings.issuers), given, settings.fetch);
    const ask = async (token: string) => {
      const signal = AbortSignal.timeout(timeout);
      const body = new URLSearchParams({ token }).toString();
      try {
        return await fetchObject(await endpoint.find(signal), settings.fetch, { method: "POST", headers, body, signal });
      } catch (error) {
        endpoint.forget();
        throw error;
      }
    };
    return { verify: introspecting(ask, settings), close: () => undefined };
  };
}

/** The endpoint, looked up when it is first needed and again after a failure: it may have moved. */
function endpointOf(issuer: string, given: string | undefined, fetch: typeof globalThis.fetch) {
  let found = given;
  return {
    async find(signal: AbortSignal): Promise<string> {
      if (found !== undefined) return found;
      const { introspection_endpoint: named } = await fetchMetadata(issuer, fetch, signal);
      if (typeof named !== "string") throw new Error(`the metadata document of ${issuer} has no introspection_endpoint`);
      found = trustworthyUrl(named, "introspection_endpoint").href;
      return found;
    },
    forget() {
      found = given;
    },
  };
}
