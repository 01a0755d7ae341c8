/** What a Bearer or DPoP challenge says. */
export interface Challenge {
  /** That tokens must be bound to a key (RFC 9449 §7.1). */
  readonly isBound?: true;
  readonly resourceMetadata: string | undefined;
  readonly scope: string | undefined;
}

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const PARAMETER = new RegExp(`[\\s,]+(${TOKEN})\\s*=\\s*(?:"((?:[^"\\\\]|\\\\.)*)"|([^\\s,"]+))`, "y");
const BEARER = /(?:^|,)\s*Bearer(?=[\s,]|$)/i;
const DPOP = /(?:^|,)\s*DPoP(?=[\s,]|$)/i;
/** Longer headers are not read. */
const LONGEST = 8192;

/** The Bearer challenge in a WWW-Authenticate header, else the DPoP challenge; undefined where there is neither. Pure. @see RFC 9110 §11.6.1, RFC 9728 §5.1 */
export function tokenChallenge(header: string | null): Challenge | undefined {
  if (header === null || header.length > LONGEST) return undefined;
  const bearer = BEARER.exec(header);
  const scheme = bearer ?? DPOP.exec(header);
  if (scheme === null) return undefined;
  const parameters = new Map<string, string>();
  PARAMETER.lastIndex = scheme.index + scheme[0].length;
  for (let match = PARAMETER.exec(header); match !== null; match = PARAMETER.exec(header)) {
    const [, name = "", quoted, plain] = match;
    parameters.set(name.toLowerCase(), quoted?.replace(/\\(.)/g, "$1") ?? plain ?? "");
  }
  const isBound = bearer === null && { isBound: true as const };
  return { resourceMetadata: parameters.get("resource_metadata"), scope: parameters.get("scope"), ...isBound };
}
