/** What a user's token is, by the last part of its URN (RFC 8693 §3). */
export const SUBJECT_TOKEN_TYPES = ["access_token", "id_token", "jwt"] as const;

/**
 * Refuses options that would be overlooked: `scopes` in place of `scope` would leave it to the server which scopes a token gets.
 * @param entry the function whose options they are
 * @throws {TypeError} that names the option
 */
export function assertNames(entry: string, options: object, names: readonly string[]): void {
  if (typeof options !== "object" || options === null) throw new TypeError(`${entry} takes its options as one object: ${names.join(", ")}`);
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown !== undefined) throw new TypeError(`${entry} has no option ${JSON.stringify(unknown)}; it takes ${names.join(", ")}`);
}

/** @param what names the value, which is in no message: it may be a secret  @throws {TypeError} */
export function assertText(what: string, value: unknown): void {
  if (typeof value !== "string" || value === "") throw new TypeError(`${what} must be a string that is not empty`);
}

/**
 * Refuses what a request for tokens cannot use: an unknown name, and anything but a text.
 * @param takes the options, and whether each is needed  @param lists those that may be a list of texts
 * @throws {TypeError} that names the option
 */
export function assertRequest(
  entry: string,
  options: object,
  takes: Readonly<Record<string, boolean>>,
  lists: readonly string[] = [],
): void {
  assertNames(entry, options, Object.keys(takes));
  for (const [name, isNeeded] of Object.entries(takes)) {
    const value: unknown = Reflect.get(options, name);
    const values: readonly unknown[] = lists.includes(name) && Array.isArray(value) && value.length > 0 ? value : [value];
    if (isNeeded || value !== undefined) for (const each of values) assertText(`${name} of ${entry}`, each);
    if (name === "tokenType" && value !== undefined && !SUBJECT_TOKEN_TYPES.some((type) => type === value))
      throw new TypeError(`tokenType of ${entry} must be one of ${SUBJECT_TOKEN_TYPES.join(", ")}`);
  }
}
