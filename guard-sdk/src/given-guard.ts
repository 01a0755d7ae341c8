import type { Guard } from "./guard.ts";
import { assertKind, having, needed } from "./option-table.ts";
import { demandOf, type RouteDemand, type RouteOptions } from "./route.ts";

const GUARD = needed(having("protect", "verifyToken", "admit", "metadataAnswer"));

/** For adapters, which are given a guard. @throws {TypeError} unless it is what createGuard returned */
export function assertGuard(entry: string, guard: Guard): void {
  assertKind(`the first argument of ${entry}`, guard, { ...GUARD, takes: "the guard that createGuard returned" });
}

/** What a route of such an adapter needs. @throws {TypeError} */
export function demandOfRoute(guard: Guard, route: RouteOptions): RouteDemand {
  assertGuard("protect", guard);
  return demandOf(route, guard.scopes);
}
