import { InvalidArgumentError } from "commander";
import { type AuthenticationDemand, PHISHING_RESISTANT_ACR, TWO_FACTOR_ACR } from "../protocol/authentication-context.ts";
import { oneOf } from "./management-api.ts";

/** The words of the command line for classes of sign-in. */
export const SIGN_INS = { any: null, mfa: TWO_FACTOR_ACR, phr: PHISHING_RESISTANT_ACR } as const;

export const signInClass = oneOf("any", "mfa", "phr");

/** What a scope demands of a sign-in; undefined: nothing. */
export type ScopeDemand = { readonly scope: string; readonly stepUp: AuthenticationDemand | undefined };

/** Reads `scope=mfa`, `scope=phr,300`, `scope=any,300` or `scope=none`, one of several. Pure. @throws {InvalidArgumentError} */
export function scopeDemand(value: string, before: readonly ScopeDemand[] = []): readonly ScopeDemand[] {
  const at = value.lastIndexOf("=");
  const [scope, demand] = [value.slice(0, at), value.slice(at + 1)];
  const [, name = "", seconds] = /^(none|any|mfa|phr)(?:,([1-9]\d{0,7}))?$/.exec(demand) ?? [];
  const asksNothing = name === "none" ? seconds !== undefined : name === "any" && seconds === undefined;
  if (at < 1 || name === "" || asksNothing)
    throw new InvalidArgumentError("must be a scope, =, and mfa, phr or any with a number of seconds after a comma, or none");
  if (name === "none") return [...before, { scope, stepUp: undefined }];
  const acr = SIGN_INS[signInClass(name)] ?? undefined;
  return [...before, { scope, stepUp: { ...(acr && { acr }), ...(seconds !== undefined && { maxAge: Number(seconds) }) } }];
}

/** A demand as `scopeDemand` reads it. Pure. */
export function demandText({ acr, maxAge }: AuthenticationDemand): string {
  const word = acr === TWO_FACTOR_ACR ? "mfa" : acr === PHISHING_RESISTANT_ACR ? "phr" : "any";
  return maxAge === undefined ? word : `${word},${maxAge}`;
}
