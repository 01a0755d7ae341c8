import type { Guard } from "./guard.ts";
import { assertKind, having, needed } from "./option-table.ts";
import { type RouteOptions, scopesOf } from "./route.ts";

const GUARD = needed(having("protect", "verifyToken", "admit", "metadataAnswer"));

/** For adapters, which are given a guard. @throws {TypeError} unless it is what createGuard returned */
export function assertGuard(entry: string, guard: Guard): void {
  assertKind(`the first argument of ${entry}`, guard, { ...GUARD, takes: "the guard that createGuard returned" });
}

/** The scopes that a route of such an adapter needs. @throws {TypeError} */
export function scopesOfRoute(guard: Guard, route: RouteOptions): readonly string[] {
  assertGuard("protect", guard);
  return scopesOf(route, guard.scopes);
}
