import type { SignedIn } from "../../accounts/ports.ts";
import { readSession } from "../../accounts/sessions.ts";
import { CATALOGUE, isRefusal, Refusal } from "../../errors.ts";
import { type Form, parseForm } from "../../protocol/form.ts";
import type { Cookies } from "../http/cookies.ts";
import type { FormGuard } from "../http/form-guard.ts";
import { type FrontContext, queryText } from "../http/routes.ts";
import type { AuthorizationFlow } from "../oauth/authorize.ts";
import { type KnownRequest, waitingHash } from "../oauth/pending-request.ts";
import { languageOf } from "../texts/language.ts";
import type { UserPorts } from "../user-ports.ts";
import { REQUEST_OVER, refusalFaults } from "./errors.ts";
import type { Site } from "./site.ts";

/** What every page works with. */
export interface PageKit {
  readonly ports: UserPorts;
  readonly cookies: Cookies;
  readonly guard: FormGuard;
  readonly flow: AuthorizationFlow;
  readonly site: Site;
}

/** The members of the query. @throws {Refusal} invalid_request */
export const queryForm = (ctx: FrontContext): Form => parseForm(queryText(ctx));

/** A member of the query. @throws {Refusal} invalid_request */
export const queryMember = (ctx: FrontContext, name: string): string | undefined => queryForm(ctx).get(name);

export const signedInTo = ({ cookies, ports }: PageKit, ctx: FrontContext): Promise<SignedIn | undefined> =>
  readSession(cookies.session(ctx), ports.sessions);

export const expired = (): Refusal =>
  new Refusal("invalid_request", REQUEST_OVER, {
    description: "This request has expired. Go back to the application and start again.",
  });

/** The pending authorization request of this browser with this id. @throws {Refusal} invalid_request */
export async function waitingRequest({ ports, cookies }: PageKit, ctx: FrontContext, requestId: string): Promise<KnownRequest> {
  const browser = cookies.visitor(ctx);
  const pending = browser === undefined ? undefined : await ports.pendingRequests.byId(waitingHash(requestId, browser));
  if (!pending) throw expired();
  return { ...pending, requestId };
}

/**
 * The faults, in the user's language, and the status of a form that is shown again after a refusal that the user can correct. Sets
 * Retry-After where it is known. @throws any other error
 */
export function failedForm(ctx: FrontContext, error: unknown, fields: readonly string[]) {
  const isCorrectable = isRefusal(error) && ["invalid_request", "unauthenticated", "conflict", "too_many_requests"].includes(error.code);
  if (!isCorrectable) throw error;
  const { code, detail } = error;
  if (detail.retryAfter !== undefined) ctx.set("Retry-After", String(detail.retryAfter));
  return { faults: refusalFaults(languageOf(ctx), error, fields), status: CATALOGUE[code].http };
}
