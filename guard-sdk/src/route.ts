import type { Guard, RouteOptions } from "./guard.ts";
import { assertKind, assertOptions, having, needed, type OptionTable, TEXTS } from "./option-table.ts";
import { scopeList } from "./scopes.ts";

const ROUTE: OptionTable<RouteOptions> = { scopes: TEXTS };
const GUARD = needed(having("protect", "verifyToken", "admit", "metadataAnswer"));

/** @throws {TypeError} unless it is what createGuard returned */
export function assertGuard(entry: string, guard: Guard): void {
  assertKind(`the first argument of ${entry}`, guard, { ...GUARD, takes: "the guard that createGuard returned" });
}

/**
 * The scopes that a route needs, all of them.
 * @param unlessSaid the guard's own
 * @throws {TypeError} for anything but `{ scopes }`: an option that was overlooked would leave the route open
 */
export function scopesOf(route: RouteOptions, unlessSaid: readonly string[]): readonly string[] {
  assertOptions("protect", route, ROUTE);
  return scopeList(route.scopes ?? unlessSaid);
}

/** The same for an adapter, which is given the guard. @throws {TypeError} */
export function scopesOfRoute(guard: Guard, route: RouteOptions): readonly string[] {
  assertGuard("protect", guard);
  return scopesOf(route, guard.scopes);
}
