/** Why something at an URL that a stranger named could not be had. `reason` is a fixed word; it goes on no wire. */
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
  /** Seconds for which the answer says that it stays good; undefined where it says nothing. */
  readonly freshFor: number | undefined;
}

/**
 * Reads from an URL that a stranger chose, without letting him reach what only we can reach.
 * @see draft-ietf-oauth-client-id-metadata-document "SSRF", docs/protocol.md#metadata-documents
 */
export interface GuardedFetch {
  /**
   * One GET of an https URL, never redirected, never cached.
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
