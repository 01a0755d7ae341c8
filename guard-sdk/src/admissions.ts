import type { AuthenticationDemand } from "./authentication.ts";
import type { Principal } from "./principal.ts";

/** That a request was let in. */
export interface Admission {
  /** By which guard: an object of its own, that nothing outside of it has. */
  readonly by: object;
  readonly resource: string;
  readonly principal: Principal;
  /** All that it was asked for so far. */
  readonly scopes: readonly string[];
  readonly authentication: AuthenticationDemand | undefined;
}

/** By the objects of this process that stand for a request; nothing that a client sends leads here. */
const admissions = new WeakMap<object, Admission>();

/** Remembers a request by every object that stands for it. */
export function noteAdmission(requests: readonly object[], admission: Admission): void {
  for (const request of requests) admissions.set(request, admission);
}

/** What is remembered of a request, by the first of these objects that is known. */
export function admissionOf(requests: readonly object[]): Admission | undefined {
  for (const request of requests) {
    const admission = admissions.get(request);
    if (admission !== undefined) return admission;
  }
  return undefined;
}

/** The principal of a request that a guard let in. @throws {Error} when no guard saw the request: a route was left unguarded by mistake */
export function principalOfRequest(request: object): Principal {
  const admission = admissionOf([request]);
  if (admission === undefined) throw new Error("no principal: this request did not pass the guard");
  return admission.principal;
}
