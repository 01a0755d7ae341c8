import type { ConsentView } from "../ports.ts";

/** What of a request the person has not yet allowed this client. */
export function missingConsent(
  scopes: readonly string[],
  resources: readonly string[],
  consent: ConsentView | undefined,
): { readonly scopes: readonly string[]; readonly resources: readonly string[] } {
  return {
    scopes: scopes.filter((scope) => !consent?.scopes.includes(scope)),
    resources: resources.filter((resource) => !consent?.resources.includes(resource)),
  };
}

/** Whether a prior consent covers the request, so that the screen may be skipped (specification §4.6). */
export function consentCovers(scopes: readonly string[], resources: readonly string[], consent: ConsentView | undefined): boolean {
  if (consent === undefined) return false;
  const missing = missingConsent(scopes, resources, consent);
  return missing.scopes.length === 0 && missing.resources.length === 0;
}
