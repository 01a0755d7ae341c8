import { Refusal, type RefusalCode } from "../errors.ts";

/** The reason of a fetch for which this server had no place: it says nothing about the host. */
export const NO_PLACE = "too_many_fetches";

/** Why a fetch from an untrusted URL failed. `reason` is a fixed word for logs; it may say what this server can reach, so callers do not get it. */
export class FetchFailure extends Error {
  override readonly name = "FetchFailure";
  readonly reason: string;

  constructor(reason: string, cause?: unknown) {
    super(reason, cause === undefined ? undefined : { cause });
    this.reason = reason;
  }
}

/**
 * The refusal of a request that needs what was not fetched. Where this server had no place for the fetch, nothing is known against the
 * caller, who is asked to come again.
 */
export const unfetched = (cause: FetchFailure, code: RefusalCode, what: string, description?: string): Refusal =>
  cause.reason === NO_PLACE
    ? new Refusal("temporarily_unavailable", `${what}_${NO_PLACE}`, { retryAfter: 1, cause })
    : new Refusal(code, `${what}_${cause.reason}`, { ...(description !== undefined && { description }), cause });

/** `text` is what was parsed. `freshFor`: seconds for which the response is fresh according to its headers, if they say so. */
export type FetchedJson = { readonly value: unknown; readonly text: string; readonly freshFor: number | undefined };

/**
 * Fetches from untrusted URLs without giving access to this server's network (SSRF).
 * @see draft-ietf-oauth-client-id-metadata-document "SSRF", docs/protocol.md#metadata-documents
 */
export interface GuardedFetch {
  /** One GET of an https URL, without redirects and cache. @throws {FetchFailure} for all but a timely 200 with up to `maxBytes` of JSON */
  json(url: string, maxBytes: number): Promise<FetchedJson>;
  /** The same for a text of one media type. @throws {FetchFailure} */
  text(url: string, mediaType: string, maxBytes: number): Promise<string>;
}

/** A request to an untrusted URL. `body` is sent as it is; its type is among the headers. */
export interface OutboundRequest {
  readonly url: string;
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;
  readonly maxBytes: number;
}

/** A response of any status. Header names are in lower case. */
export interface OutboundResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** Sends requests under the rules of {@link GuardedFetch}. */
export interface GuardedSend {
  /** @throws {FetchFailure} for all but a timely response of up to `maxBytes` */
  send(request: OutboundRequest): Promise<OutboundResponse>;
}
