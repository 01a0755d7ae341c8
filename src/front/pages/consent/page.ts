import { hash } from "node:crypto";
import { denyConsent, giveConsent } from "../../../accounts/consents.ts";
import type { SignedIn } from "../../../accounts/ports.ts";
import { Refusal } from "../../../errors.ts";
import type { Authorization } from "../../../gen/countersign/token/v1/token_pb.ts";
import { formBody } from "../../http/body.ts";
import type { FrontContext, Handler } from "../../http/routes.ts";
import { nextStep } from "../../oauth/authorization-step.ts";
import type { GoodRequest } from "../../oauth/authorize.ts";
import { hasSignedInSince } from "../../oauth/pending-request-id.ts";
import { languageOf } from "../../texts/language.ts";
import { callerOf } from "../../user-ports.ts";
import { type PageKit, queryMember, signedInTo } from "../kit.ts";
import { type Answer, answerRequest, decisionSecret, NOTHING_ASKED, type OpenRequest, openRequest } from "../open-request.ts";
import { sendPage, sendRedirect } from "../send.ts";
import { shownClient } from "../views/client.ts";
import { consentView } from "./view.ts";

const purpose = (requestId: string) => `consent ${requestId}`;

/** What of the scopes is there to speak of: where there are no refresh tokens nothing goes on while the person is away. */
const kept = (scopes: readonly string[], lifetimes: Authorization["lifetimes"]): readonly string[] =>
  lifetimes !== undefined && lifetimes.refreshToken === undefined ? scopes.filter((scope) => scope !== "offline_access") : scopes;

/** What was shown, in short: an answer counts for exactly that, should the request come to mean more meanwhile. */
const offerOf = ({ scopes, resources, resourceClients }: Authorization): string =>
  hash(
    "sha256",
    JSON.stringify([scopes, resources, resourceClients.map(({ clientId, name, agent }) => [clientId, name, agent])]),
    "base64url",
  );

/** A request that waits for the person's word, and that person. */
interface Asked extends GoodRequest {
  readonly open: OpenRequest;
  readonly signedIn: SignedIn;
}

/** GET /consent and POST /consent. */
export function consentPage(kit: PageKit): { readonly GET: Handler; readonly POST: Handler } {
  const { ports, guard, flow, site } = kit;

  /** Takes every way that needs no word of the person. @returns undefined when the answer has been written */
  async function pending(ctx: FrontContext, requestId: string | undefined, answer: Answer, status: 302 | 303): Promise<Asked | undefined> {
    const signedIn = await signedInTo(kit, ctx);
    const open = await openRequest(kit, ctx, requestId, answer, signedIn?.user.id);
    const good = await flow.judge(ctx, open.query, signedIn, status);
    if (!good) return undefined;
    const renewed = hasSignedInSince(open, signedIn, kit.cookies.session(ctx));
    const step = nextStep(good.authorization, signedIn, renewed, ports.clock());
    if (step.kind === "sign_in" || !signedIn) {
      sendRedirect(ctx, site.path("/login", open), status);
      return undefined;
    }
    // Her word counts also where the request has become covered meanwhile, as by the first of two clicks.
    if (step.kind === "consent" || (step.kind === "issue" && answer !== NOTHING_ASKED)) return { ...good, signedIn, open };
    await answerRequest(kit, open, answer, signedIn.user.id);
    if (step.kind === "issue") await flow.issue(ctx, { ...good, signedIn }, status, decisionSecret(open, signedIn.user.id));
    else flow.refuse(ctx, good.request, step.error, step.description, status);
    return undefined;
  }

  async function approve(ctx: FrontContext, asked: Asked): Promise<void> {
    const { authorization, signedIn, open } = asked;
    const { clientId = "", name = clientId } = authorization.client ?? {};
    const { scopes, resources, newScopes, newResources } = authorization;
    // What the first of two clicks gave is there already, unless that click is still under way.
    if (!open.again || newScopes.length + newResources.length > 0)
      await giveConsent({ userId: signedIn.user.id, clientId, clientName: name, scopes, resources }, ports, callerOf(ctx));
    await flow.issue(ctx, asked, 303, decisionSecret(open, signedIn.user.id));
  }

  async function deny(ctx: FrontContext, { authorization, signedIn, request, open }: Asked): Promise<void> {
    const { client, scopes, resources } = authorization;
    if (!open.again)
      await denyConsent({ userId: signedIn.user.id, clientId: client?.clientId ?? "", scopes, resources }, ports.refusals, callerOf(ctx));
    flow.refuse(ctx, request, "access_denied", "The person did not allow it.", 303);
  }

  return {
    async GET(ctx) {
      const asked = await pending(ctx, queryMember(ctx, "request"), NOTHING_ASKED, 302);
      if (!asked) return;
      const { authorization, request, signedIn } = asked;
      const { requestId } = asked.open;
      const { scopes, newScopes, resources, newResources } = authorization;
      const language = languageOf(ctx);
      const client = shownClient(language, authorization, request.redirectUri ?? "");
      const token = guard.token(ctx, purpose(requestId));
      const offer = offerOf(authorization);
      const { email } = signedIn.user;
      const described = await ports.scopeDescriptions.of(signedIn.user.realmId, scopes);
      const targets = new Map(authorization.resourceClients.map(({ clientId, name, agent }) => [clientId, { name, isAgent: agent }]));
      const { lifetimes } = authorization;
      const wanted = { scopes: kept(scopes, lifetimes), newScopes: kept(newScopes, lifetimes), resources, newResources };
      const asks = { client, ...wanted, targets, lifetimes };
      sendPage(ctx, consentView(site, language, { token, requestId, offer, email, ...asks, described }));
    },
    async POST(ctx) {
      const form = await formBody(ctx);
      guard.assert(ctx, form, purpose(form.get("request") ?? ""));
      const decision = form.get("decision");
      if (decision !== "approve" && decision !== "deny") throw new Refusal("invalid_request", "decision_missing");
      const asked = await pending(ctx, form.get("request"), decision, 303);
      if (!asked) return;
      if (form.get("offer") !== offerOf(asked.authorization)) {
        return sendRedirect(ctx, site.path("/consent", asked.open), 303);
      }
      const again = await answerRequest(kit, asked.open, decision, asked.signedIn.user.id);
      const answered = { ...asked, open: { ...asked.open, again } };
      if (decision === "approve") await approve(ctx, answered);
      else await deny(ctx, answered);
    },
  };
}
