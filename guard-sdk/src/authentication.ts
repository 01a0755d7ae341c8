import { assertOptions, NUMBER, type OptionTable, TEXTS } from "./option-table.ts";
import type { Principal } from "./principal.ts";
import { GuardRefusal } from "./refusal.ts";

/** How the user must have signed in. @see RFC 9470 */
export interface AuthenticationDemand {
  /** The authentication context classes of which one will do, the preferred first. Compared exactly. */
  readonly acr?: readonly string[];
  /** Seconds since the user signed in. */
  readonly maxAge?: number;
}

const DEMAND: OptionTable<AuthenticationDemand> = { acr: TEXTS, maxAge: NUMBER };

/** What a challenge can carry in quotes, and a client in a list separated by spaces. */
const ACR = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

/** @throws {TypeError} for a demand that would be misread */
export function checkedDemand(demand: AuthenticationDemand): AuthenticationDemand {
  assertOptions("requireAuthentication", demand, DEMAND);
  const { acr, maxAge } = demand;
  if (acr === undefined && maxAge === undefined) throw new TypeError("requireAuthentication needs acr, maxAge or both");
  if (acr !== undefined && (acr.length === 0 || !acr.every((value) => ACR.test(value))))
    throw new TypeError(`acr of requireAuthentication must name authentication context classes: ${JSON.stringify(acr)}`);
  if (maxAge !== undefined && !(Number.isSafeInteger(maxAge) && maxAge >= 0))
    throw new TypeError(`maxAge of requireAuthentication must be a whole number of seconds: ${maxAge}`);
  return Object.freeze({ ...(acr && { acr: Object.freeze([...acr]) }), ...(maxAge !== undefined && { maxAge }) });
}

/**
 * Pure. A token of a client's own has no sign-in, so it never suffices.
 * @param now whole seconds since the epoch
 * @throws {GuardRefusal} insufficient_user_authentication
 */
export function assertAuthenticated({ acr, authTime }: Principal, demand: AuthenticationDemand, now: number): void {
  if (demand.acr !== undefined && (acr === undefined || !demand.acr.includes(acr))) throw refused("acr_insufficient");
  if (demand.maxAge !== undefined && (authTime === undefined || now - authTime > demand.maxAge)) throw refused("sign_in_too_old");
}

/** Both demands in one: a client that came back with the later one alone would get no further. */
export function bothDemands(
  earlier: AuthenticationDemand | undefined,
  later: AuthenticationDemand | undefined,
): AuthenticationDemand | undefined {
  if (earlier === undefined || later === undefined) return earlier ?? later;
  const acr = later.acr === undefined ? earlier.acr : later.acr.filter((value) => earlier.acr?.includes(value) ?? true);
  const ages = [earlier, later].flatMap(({ maxAge }) => (maxAge === undefined ? [] : [maxAge]));
  return { ...(acr && { acr }), ...(ages.length > 0 && { maxAge: Math.min(...ages) }) };
}

const refused = (reason: string) => new GuardRefusal("insufficient_user_authentication", reason);
