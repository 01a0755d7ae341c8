import type { RefusalLog, SignedIn } from "../../../accounts/ports.ts";
import { SESSION_ENDED } from "../../../accounts/sessions.ts";
import { EMAIL_UNVERIFIED, hasSignUp } from "../../../accounts/sign-up-policy.ts";
import { CATALOGUE, isRefusal, Refusal, type RefusalCode } from "../../../errors.ts";
import { hashSecret } from "../../../random.ts";
import type { Texts } from "../../../texts/languages.ts";
import type { Connection } from "../../../upstream/connection.ts";
import type { UpstreamIdentity } from "../../../upstream/ports.ts";
import { arrive, linkIdentity, unlinkIdentity, upstreamRefused } from "../../../upstream/sign-in.ts";
import { donePath } from "../../done.ts";
import { sendRedirect, setRetryHeaders } from "../../http/answers.ts";
import { callerOf } from "../../http/caller.ts";
import { type FrontContext, type Handler, queryText } from "../../http/routes.ts";
import { expired, storedRequest, waitingRequest } from "../../oauth/pending-request.ts";
import { provedForm } from "../fresh-proof.ts";
import {
  browserCaller,
  enterBrowser,
  failedForm,
  goneAfter,
  type PageKit,
  queryForm,
  queryMember,
  returnToOf,
  signedInTo,
} from "../kit.ts";
import { showSecurity } from "../security/page.ts";
import { beginSecondFactor } from "../sign-in/page.ts";
import { sendNotice, wideLink } from "../views/cards.ts";
import { html, type ReturnTo } from "../views/layout.ts";
import { beginDetour, connectionNamed, type Detour, endDetour } from "./detour.ts";

const nameIn = (ctx: FrontContext): string => String(ctx.params.name);

/** GET /signin/{name}: sends the browser to a provider. */
export const upstreamPage =
  (kit: PageKit): Handler =>
  async (ctx) => {
    const connection = await connectionNamed(kit, nameIn(ctx));
    const returnTo = returnToOf(kit.site, queryForm(ctx));
    const again = await mustProveAgain(kit, ctx, returnTo);
    await leave(kit, ctx, connection, { connectionId: connection.id, returnTo, linkFor: undefined, again });
  };

/** Sends the browser to a provider. */
async function leave(kit: PageKit, ctx: FrontContext, connection: Connection, detour: Detour): Promise<void> {
  const loginHint = queryMember(ctx, "login_hint")?.slice(0, 254);
  try {
    if (detour.again && connection.protocol === "github") throw new Refusal("access_denied", "upstream_cannot_confirm");
    const providers = await kit.ports.providers();
    const secrets = await beginDetour(kit, ctx, await signedInTo(kit, ctx), detour);
    sendRedirect(ctx, await providers.authorizationUrl(connection, secrets, { loginHint, again: detour.again }));
  } catch (error) {
    await fail(kit, ctx, connection, detour, error);
  }
}

/** Whether the user must prove again who they are: one who is signed in, or whose application asks for it. The provider must ask them too. */
const mustProveAgain = async (kit: PageKit, ctx: FrontContext, returnTo: ReturnTo): Promise<boolean> =>
  (await signedInTo(kit, ctx)) !== undefined || isAskedToProve(kit, ctx, returnTo);

/** Whether the application asks for a fresh proof. */
async function isAskedToProve(kit: PageKit, ctx: FrontContext, { requestId }: ReturnTo): Promise<boolean> {
  if (requestId === undefined) return false;
  const pending = await waitingRequest(kit, ctx, requestId);
  if (!pending) throw expired();
  const { prompt, maxAge } = storedRequest(pending.query);
  return maxAge !== undefined || (prompt ?? "").split(" ").includes("login");
}

/** GET /signin/{name}/callback: the browser comes back from a provider. @see OIDC Core §3.1.2.5, RFC 9207 */
export const upstreamCallbackPage =
  (kit: PageKit): Handler =>
  async (ctx) => {
    const { ports } = kit;
    const { secrets, ...detour } = await endDetour(kit, ctx, queryMember(ctx, "state"));
    const connection = await connectionNamed(kit, nameIn(ctx));
    try {
      // A response that came back to the address of another connection is mixed up (RFC 9700 §4.4).
      if (connection.id !== detour.connectionId) throw new Refusal("access_denied", "upstream_mixed_up");
      const url = new URL(`${ports.issuer}/signin/${connection.name}/callback?${queryText(ctx)}`);
      const identity = await (await ports.providers()).identityOf(connection, url, secrets);
      if (detour.linkFor !== undefined) await link(kit, ctx, connection, identity, detour.linkFor);
      else await enter(kit, ctx, connection, identity, detour.returnTo);
    } catch (error) {
      await fail(kit, ctx, connection, detour, error);
    }
  };

/** Seconds, and audit records of refused arrivals in them that one address may cause: as many as by wrong passwords. */
const [WINDOW, MOST_RECORDED] = [900, 100];

/** Records refused arrivals, of which strangers can cause any number. */
const boundedRefusals = ({ ports: { refusals, strangerFailures } }: PageKit, ctx: FrontContext): RefusalLog => ({
  async record(entry) {
    const address = hashSecret(`refused arrivals\n${callerOf(ctx).limitKey}`);
    await strangerFailures.count(address, WINDOW);
    if ((await strangerFailures.failures(address)) <= MOST_RECORDED) await refusals.record(entry);
  },
});

const WORDS = { link_first: "linkFirst", no_account: "noAccount" } as const;

async function enter(
  kit: PageKit,
  ctx: FrontContext,
  connection: Connection,
  identity: UpstreamIdentity,
  returnTo: ReturnTo,
): Promise<void> {
  const { site } = kit;
  const ports = { ...kit.ports, refusals: boundedRefusals(kit, ctx) };
  const arrived = await arrive(connection, identity, ports, browserCaller(kit, ctx));
  if (arrived.kind === "half") return sendRedirect(ctx, await beginSecondFactor(kit, ctx, arrived.half, returnTo));
  if (arrived.kind !== "signed_in") {
    const [{ kind }, { title }] = [arrived, connection];
    // The identity belongs to no account: an address alone leads into none.
    const words = ({ upstream: texts }: Texts) => ({
      title: texts[WORDS[kind]].title,
      text: texts[WORDS[kind]].text(title),
      more: html`<div class="ways">
${wideLink(site.path("/login", returnTo), texts.toSignIn)}
${kind === "no_account" && hasSignUp(ports.signUpPolicy) && html`<a class="button button-quiet button-wide" href="${site.path("/signup", returnTo)}">${texts.createAccount}</a>`}
</div>`,
    });
    return sendNotice(ctx, site, "plain", words, 403);
  }
  sendRedirect(ctx, await enterBrowser(kit, ctx, arrived.session, returnTo));
}

/** Links the identity to the user who has asked for it, in the same session. @throws {Refusal} conflict, login_required */
async function link(kit: PageKit, ctx: FrontContext, connection: Connection, identity: UpstreamIdentity, session: string): Promise<void> {
  const signedIn = await signedInTo(kit, ctx);
  if (signedIn?.session.id !== session) throw new Refusal("login_required", SESSION_ENDED);
  await linkIdentity(signedIn, connection, identity, kit.ports, callerOf(ctx));
  sendRedirect(ctx, kit.site.path(donePath(kit, ctx, "/account/security", "linked")));
}

const SHOWN: readonly RefusalCode[] = ["access_denied", "unauthenticated", "login_required", "conflict", "temporarily_unavailable"];
/** Reasons that arrive() has recorded, with the user. */
const RECORDED: readonly string[] = ["account_disabled", EMAIL_UNVERIFIED];

/** Shows why a provider did not sign the user in, and records it. @throws any error that is no such reason */
async function fail(kit: PageKit, ctx: FrontContext, connection: Connection, detour: Detour, error: unknown): Promise<void> {
  const { site } = kit;
  if (!isRefusal(error) || !(SHOWN.includes(error.code) || error.reason === EMAIL_UNVERIFIED)) throw error;
  const recorded = RECORDED.includes(error.reason);
  if (!recorded) await boundedRefusals(kit, ctx).record(upstreamRefused(connection, error.reason, callerOf(ctx)));
  setRetryHeaders(ctx, error);
  const { title } = connection;
  const { returnTo } = detour;
  const signOutHelps =
    error.reason === "upstream_cannot_confirm" && (await signedInTo(kit, ctx)) !== undefined && !(await isAskedToProve(kit, ctx, returnTo));
  const words = ({ upstream: texts, refusals }: Texts) => ({
    title: texts.failed.title(title),
    text:
      error.reason === EMAIL_UNVERIFIED
        ? refusals.reasons.email_unverified
        : failedText(texts.failed, error.reason, title, site.host, signOutHelps),
    more:
      detour.linkFor === undefined
        ? wideLink(site.path("/login", returnTo), texts.toSignIn)
        : wideLink(site.path("/account/security"), texts.toSecurity),
  });
  sendNotice(ctx, site, "bad", words, CATALOGUE[error.code].http);
}

/** @param title of the provider  @param signOutHelps whether one that cannot ask a user again does where none is signed in */
function failedText(texts: Texts["upstream"]["failed"], reason: string, title: string, host: string, signOutHelps: boolean): string {
  if (reason === "upstream_denied") return texts.denied(title);
  if (reason === "upstream_unreachable") return texts.unreachable(title);
  if (reason === "account_disabled") return texts.disabled(host);
  if (reason === "upstream_cannot_confirm") return signOutHelps ? texts.signOutFirst(title) : texts.cannotConfirm(title);
  if (reason === SESSION_ENDED) return texts.sessionEnded(title);
  return reason === "identity_taken" ? texts.taken(title) : texts.refused(title);
}

/** POST /account/security/identities: connects or disconnects another account, by a fresh proof. */
export const identitiesPage = (kit: PageKit): Handler =>
  provedForm(kit, async (ctx, form, signedIn) => {
    const toLink = form.get("link");
    if (toLink !== undefined) return startLink(kit, ctx, signedIn, toLink);
    try {
      await goneAfter(unlink(kit, ctx, signedIn, form.get("unlink") ?? ""));
      return donePath(kit, ctx, "/account/security", "unlinked");
    } catch (error) {
      await showSecurity(kit, ctx, signedIn, failedForm(ctx, error, []));
    }
  });

/** Sends the browser to the provider of which an account is linked. */
async function startLink(kit: PageKit, ctx: FrontContext, { session }: SignedIn, name: string): Promise<undefined> {
  const connection = await connectionNamed(kit, name);
  await leave(kit, ctx, connection, { connectionId: connection.id, returnTo: {}, linkFor: session.id, again: false });
}

/** @param named issuer and subject, as the page wrote them */
async function unlink({ ports }: PageKit, ctx: FrontContext, signedIn: SignedIn, named: string): Promise<void> {
  const [issuer = "", subject = ""] = [named.slice(0, named.indexOf(" ")), named.slice(named.indexOf(" ") + 1)];
  const known = (await ports.identityLinks.ofUser(signedIn.user.id)).find((each) => each.issuer === issuer && each.subject === subject);
  await unlinkIdentity(signedIn, { issuer, subject }, known?.title ?? issuer, ports, callerOf(ctx));
}
