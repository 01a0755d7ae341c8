const SCOPE_TOKEN = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

/**
 * A list of needed scopes without repeats, in the order given.
 * @throws {TypeError} when an entry is no scope token (RFC 6749 §3.3): it could never be granted
 */
export function scopeList(scopes: readonly string[]): readonly string[] {
  for (const scope of scopes) {
    if (!SCOPE_TOKEN.test(scope)) throw new TypeError(`not a scope: ${JSON.stringify(scope)}`);
  }
  return Object.freeze([...new Set(scopes)]);
}

/** Whether every needed scope was granted. Exact, case sensitive, without hierarchy (docs/protocol.md#guard). */
export function hasScopes(granted: readonly string[], needed: readonly string[]): boolean {
  return needed.every((scope) => granted.includes(scope));
}

/**
 * What of a scope list may be shown to clients. `offline_access` asks for a refresh token, which is a matter between
 * client and authorization server: it is enforced where configured, but never asked for by a resource.
 */
export function advertisedScopes(scopes: readonly string[]): readonly string[] {
  return scopes.filter((scope) => scope !== "offline_access");
}
