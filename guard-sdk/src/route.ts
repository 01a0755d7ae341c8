import { assertOptions, type OptionTable, TEXTS } from "./option-table.ts";
import { scopeList } from "./scopes.ts";

/** What a route asks for. */
export interface RouteOptions {
  /** The scopes that this route needs, all of them; replaces the guard's own list. */
  readonly scopes?: readonly string[];
}

const ROUTE: OptionTable<RouteOptions> = { scopes: TEXTS };

/**
 * The scopes that a route needs, all of them.
 * @param unlessSaid the guard's own
 * @throws {TypeError} for anything but `{ scopes }`: an option that was overlooked would leave the route open
 */
export function scopesOf(route: RouteOptions, unlessSaid: readonly string[]): readonly string[] {
  assertOptions("protect", route, ROUTE);
  return scopeList(route.scopes ?? unlessSaid);
}
