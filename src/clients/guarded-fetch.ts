/** Why a fetch from an untrusted URL failed. `reason` is a fixed word for logs, never for the caller. */
export class FetchFailure extends Error {
  override readonly name = "FetchFailure";
  readonly reason: string;

  constructor(reason: string, cause?: unknown) {
    super(reason, cause === undefined ? undefined : { cause });
    this.reason = reason;
  }
}

export interface FetchedJson {
  readonly value: unknown;
  /** Seconds for which the response is fresh according to its headers; undefined if they do not say. */
  readonly freshFor: number | undefined;
}

/**
 * Fetches from untrusted URLs without giving access to this server's network (SSRF).
 * @see draft-ietf-oauth-client-id-metadata-document "SSRF", docs/protocol.md#metadata-documents
 */
export interface GuardedFetch {
  /**
   * One GET of an https URL, without redirects and cache.
   * @param maxBytes of the body
   * @throws {FetchFailure} for everything but a 200 with a JSON body within bounds of size and time
   */
  json(url: string, maxBytes: number): Promise<FetchedJson>;
  /**
   * The same for a text of one media type.
   * @throws {FetchFailure} for everything but a 200 with a body of that type within bounds of size and time
   */
  text(url: string, mediaType: string, maxBytes: number): Promise<string>;
}
