import { hash } from "node:crypto";
import { denyConsent, giveConsent } from "../../../accounts/account.ts";
import type { SignedIn } from "../../../accounts/ports.ts";
import { isRefusal, Refusal } from "../../../errors.ts";
import type { Authorization } from "../../../gen/countersign/token/v1/token_pb.ts";
import { sendRedirect } from "../../http/answers.ts";
import { issueCode, refuseRequest, type ValidRequest } from "../../oauth/authorize.ts";
import { openPushed } from "../../oauth/client-requests.ts";
import { type Answer, answerRequest, decisionSecret, NOTHING_ASKED, type OpenRequest, openRequest } from "../../oauth/pending-request.ts";
import { browserToken, type FormHandlers, formFor, queryMember, SET_UP, signedInTo, type Visit, validRequest } from "../kit.ts";
import { sendPage } from "../views/layout.ts";
import { effectiveScopes, namesOf, shownClient } from "../views/words.ts";
import { consentView } from "./view.ts";

/** The member of the query that asks the user in any case: another one has signed in since, or the request means more, than was decided on. */
export const ASK = "ask";

const purpose = (requestId: string) => `consent ${requestId}`;

/**
 * A digest of what was shown and to whom: an approval counts for exactly that, should the request mean more by the time it arrives, or another
 * user have signed in.
 */
function offerOf({ client, scopes, resources, resourceClients, lifetimes }: Authorization, userId: string): string {
  const howLong = [lifetimes?.accessToken, lifetimes?.refreshToken, lifetimes?.refreshFamilyMax];
  const shown = [
    userId,
    client?.name,
    scopes,
    resources,
    resourceClients.map(({ clientId, name, agent }) => [clientId, name, agent]),
    howLong,
  ];
  return hash("sha256", JSON.stringify(shown), "base64url");
}

type PendingDecision = ValidRequest & { readonly open: OpenRequest; readonly signedIn: SignedIn };

export const consentPage: FormHandlers = {
  async GET(visit) {
    const pending = await pendingDecision(visit, queryMember(visit, "request"), NOTHING_ASKED);
    if (pending) await show(visit, pending);
  },
  async POST(visit) {
    const { ctx } = visit;
    const form = await formFor(visit, (sent) => purpose(sent.get("request") ?? ""));
    const decision = form.get("decision");
    if (decision !== "approve" && decision !== "deny") throw new Refusal("invalid_request", "decision_missing");
    const pending = await pendingDecision(visit, form.get("request"), decision);
    if (!pending) return;
    if (decision === "approve" && form.get("offer") !== offerOf(pending.authorization, pending.signedIn.user.id)) {
      return sendRedirect(ctx, visit.site.path(`/consent?${ASK}=yes`, pending.open));
    }
    const again = await answerRequest(visit, pending.open, decision, pending.signedIn.user.id);
    const decided = { ...pending, open: { ...pending.open, again } };
    if (decision === "approve") await approve(visit, decided);
    else await deny(visit, decided);
  },
};

/** Handles every request that needs no decision of the user. @returns undefined when the response has been written */
async function pendingDecision(visit: Visit, requestId: string | undefined, answer: Answer) {
  const { ctx, site } = visit;
  const signedIn = await signedInTo(visit);
  const open = await openRequest(visit, requestId, answer, signedIn?.user.id);
  const found = await validRequest(visit, open, signedIn);
  if (!found) return undefined;
  const { step, ...valid } = found;
  if (step.kind === "sign_in" || !signedIn) return void sendRedirect(ctx, site.path("/login", open));
  if (step.kind === "set_up") return void sendRedirect(ctx, site.path(SET_UP, open));
  // A decision also counts where the consent covers the request by now, as by the first of two clicks.
  const isAsked = answer !== NOTHING_ASKED || queryMember(visit, ASK) !== undefined;
  if (step.kind === "consent" || (step.kind === "issue" && isAsked)) return { ...valid, signedIn, open };
  await answerRequest(visit, open, answer, signedIn.user.id);
  if (step.kind === "issue") await issueCode(visit, { ...valid, signedIn }, decisionSecret(open, signedIn.user.id));
  else refuseRequest(visit, valid.request, step.error, step.description);
  return undefined;
}

async function show(visit: Visit, pending: PendingDecision): Promise<void> {
  const { ports, language } = visit;
  const { authorization, request, signedIn, open } = pending;
  const { requestId } = open;
  const { scopes, newScopes, resources, newResources, lifetimes } = authorization;
  const hasRefreshTokens = lifetimes && lifetimes.refreshToken !== undefined;
  const clients = new Map(authorization.resourceClients.map(({ clientId, name, agent }) => [clientId, { name, isAgent: agent }]));
  const page = {
    token: browserToken(visit, purpose(requestId)),
    requestId,
    offer: offerOf(authorization, signedIn.user.id),
    email: signedIn.user.email,
    client: shownClient(language, authorization, request.redirectUri ?? ""),
    scopes: effectiveScopes(scopes, hasRefreshTokens),
    newScopes: effectiveScopes(newScopes, hasRefreshTokens),
    resources,
    newResources,
    ...(await namesOf(ports, signedIn.user, [authorization], clients)),
    lifetimes,
  };
  sendPage(visit, consentView(visit, page));
}

async function approve(visit: Visit, decided: PendingDecision): Promise<void> {
  const { authorization, signedIn, open } = decided;
  const { clientId = "", name = clientId } = authorization.client ?? {};
  const { scopes, resources, newScopes, newResources } = authorization;
  const asked = { userId: signedIn.user.id, clientId, scopes, resources };
  // After the first of two clicks the consent is already stored, unless that click is still being handled.
  if (!open.again || newScopes.length + newResources.length > 0) {
    try {
      await giveConsent({ ...asked, clientName: name, sessionId: signedIn.session.id }, visit.ports, visit.caller);
    } catch (error) {
      if (!isRefusal(error) || error.code !== "invalid_target") throw error;
      return refuseRequest(visit, decided.request, error.code, error.detail.description ?? "");
    }
  }
  await issueCode(visit, decided, decisionSecret(open, signedIn.user.id));
}

/** @throws {Refusal} invalid_request where a pushed request has led to a code, as in another tab */
async function deny(visit: Visit, decided: PendingDecision): Promise<void> {
  const { ports, ctx, caller } = visit;
  const { authorization, signedIn, request, open } = decided;
  const { client, scopes, resources } = authorization;
  const { clientId = "", deviceRequest, pushedRequest: requestUri } = request;
  if (requestUri !== undefined) await openPushed(ctx, { clientId, requestUri }, ports.core, open.browser);
  if (deviceRequest !== undefined && !(await denyDevice(visit, deviceRequest)))
    return refuseRequest(visit, request, "server_error", "The device request was approved before.");
  if (!open.again)
    await denyConsent({ userId: signedIn.user.id, clientId: client?.clientId ?? "", scopes, resources }, ports.refusals, caller);
  refuseRequest(visit, request, "access_denied", "The user denied the request.");
}

/** @returns false where the request was approved before, as in another tab or by another user */
async function denyDevice({ ports: { core }, ctx }: Visit, deviceRequest: string): Promise<boolean> {
  try {
    await core.denyDeviceRequest({ deviceRequest }, { signal: ctx.state.signal });
    return true;
  } catch (error) {
    if (isRefusal(error) && error.code === "conflict") return false;
    throw error;
  }
}
