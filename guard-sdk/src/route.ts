import { type AuthenticationDemand, checkedDemand } from "./authentication.ts";
import { assertOptions, OBJECT, type OptionTable, TEXTS } from "./option-table.ts";
import { scopeList } from "./scopes.ts";

/** What a route asks for. */
export interface RouteOptions {
  /** The scopes that this route needs, all of them; replaces the guard's own list. */
  readonly scopes?: readonly string[];
  /** How the user must have signed in for this route; a token without that is answered with a step-up challenge (RFC 9470). */
  readonly requireAuthentication?: AuthenticationDemand;
}

/** The options of a route, checked. */
export interface RouteDemand {
  readonly scopes: readonly string[];
  readonly authentication: AuthenticationDemand | undefined;
}

const ROUTE: OptionTable<RouteOptions> = { scopes: TEXTS, requireAuthentication: OBJECT };

/**
 * What a route needs: all of the scopes, and the sign-in.
 * @param unlessSaid the guard's own scopes
 * @throws {TypeError} for any other option: one that was overlooked would leave the route open
 */
export function demandOf(route: RouteOptions, unlessSaid: readonly string[]): RouteDemand {
  assertOptions("protect", route, ROUTE);
  const { requireAuthentication: demand } = route;
  return { scopes: scopeList(route.scopes ?? unlessSaid), authentication: demand && checkedDemand(demand) };
}
