/** Authentication context classes, the weakest first. @see RFC 9470, OpenID EAP ACR Values 1.0 (phr), docs/sign-in.md */
export const ACR_VALUES = ["urn:countersign:pwd", "urn:countersign:mfa", "phr"] as const;
export type Acr = (typeof ACR_VALUES)[number];
export const [PASSWORD_ACR, TWO_FACTOR_ACR, PHISHING_RESISTANT_ACR] = ACR_VALUES;

/** What a scope or a realm asks of a sign-in; `maxAge` in seconds. */
export type AuthenticationDemand = { readonly acr?: Acr | undefined; readonly maxAge?: number | undefined };

/** How the user of a code or grant signed in, where tokens say it. */
export interface StatedAuthentication {
  /** Of the session. */
  readonly acr: string;
  readonly amr: readonly string[];
  /** The values of `acr_values` that this server knows, in the client's order. */
  readonly requested: readonly string[];
  /** Whether the request sent `acr_values`, so that the ID token says it too. */
  readonly inIdToken: boolean;
}

const isAcr = (value: string): value is Acr => (ACR_VALUES as readonly string[]).includes(value);

/** An unknown class counts as the weakest. */
const rankOf = (acr: string): number => Math.max(0, ACR_VALUES.indexOf(acr as Acr));

/** Whether a class is as strong as another. Pure. */
export const isAsStrong = (acr: string, as: string): boolean => rankOf(acr) >= rankOf(as);

/** The classes of `acr_values` that this server knows; others are ignored. Pure. @see OIDC Core §3.1.2.1 */
export const knownAcrValues = (acrValues: string | undefined): readonly Acr[] => (acrValues ?? "").split(" ").filter(isAcr);

/** The strongest of the demands together, and the shortest age. Pure. @returns undefined without any */
export function strictest(demands: readonly AuthenticationDemand[]): AuthenticationDemand | undefined {
  const acr = ACR_VALUES.findLast((value) => demands.some((demand) => demand.acr === value));
  const ages = demands.flatMap(({ maxAge }) => (maxAge === undefined ? [] : [maxAge]));
  if (acr === undefined && ages.length === 0) return undefined;
  return { ...(acr !== undefined && { acr }), ...(ages.length > 0 && { maxAge: Math.min(...ages) }) };
}

/**
 * The class that a sign-in has to reach. Pure. `acr_values` is voluntary, so it counts only as far as the user can fulfil it.
 * @param requested any of these will do  @param reachable the strongest that the user can reach
 */
export function neededAcr(requested: readonly string[], demanded: string | undefined, reachable: string): string {
  const preferred = ACR_VALUES.find((value) => requested.includes(value));
  const fulfilled = preferred !== undefined && isAsStrong(reachable, preferred) ? preferred : PASSWORD_ACR;
  return demanded !== undefined && isAsStrong(demanded, fulfilled) ? demanded : fulfilled;
}

/** The claims of a token: the first class that was requested and is reached, else the one of the sign-in. @see RFC 9470 §6, RFC 9068 §2.2.1 */
export function authenticationClaims({ acr, amr, requested }: StatedAuthentication) {
  return { acr: requested.find((value) => isAsStrong(acr, value)) ?? acr, amr };
}
