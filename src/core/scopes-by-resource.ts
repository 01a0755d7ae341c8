/** The client itself, as a place where scopes hold: that is where they hold without a resource. */
const CLIENT_ITSELF = "";

/** Scopes by the place where they hold: at each of the resources, or without any at the client itself. */
export const scopesByResource = (scopes: readonly string[], resources: readonly string[]): Readonly<Record<string, readonly string[]>> =>
  Object.fromEntries((resources.length === 0 ? [CLIENT_ITSELF] : resources).map((place) => [place, scopes]));
