import { SESSION_ENDED } from "../../../accounts/account.ts";
import type { RefusalLog, SignedIn } from "../../../accounts/ports.ts";
import { EMAIL_UNVERIFIED, hasSignUp } from "../../../accounts/sign-up-policy.ts";
import { CATALOGUE, isRefusal, Refusal, type RefusalCode } from "../../../errors.ts";
import { hashSecret } from "../../../random.ts";
import type { Texts } from "../../../texts/languages.ts";
import type { Connection } from "../../../upstream/connection.ts";
import type { UpstreamIdentity } from "../../../upstream/ports.ts";
import { arrive, linkIdentity, unlinkIdentity, upstreamRefused } from "../../../upstream/sign-in.ts";
import { donePath } from "../../done.ts";
import { sendRedirect, setRetryHeaders } from "../../http/answers.ts";
import { queryText } from "../../http/routes.ts";
import { expired, storedRequest, waitingRequest } from "../../oauth/pending-request.ts";
import { provedForm } from "../fresh-proof.ts";
import { browserCaller, enterBrowser, failedForm, goneAfter, queryForm, queryMember, returnToOf, signedInTo, type Visit } from "../kit.ts";
import { showSecurity } from "../security/page.ts";
import { beginSecondFactor } from "../sign-in/page.ts";
import { sendNotice, wideLink } from "../views/cards.ts";
import { html, type ReturnTo } from "../views/layout.ts";
import { beginDetour, connectionNamed, type Detour, endDetour } from "./detour.ts";

const nameIn = (visit: Visit): string => String(visit.ctx.params.name);

/** GET /signin/{name}: sends the browser to a provider. */
export const upstreamPage = async (visit: Visit) => {
  const connection = await connectionNamed(visit, nameIn(visit));
  const returnTo = returnToOf(visit.site, queryForm(visit));
  const signedIn = await signedInTo(visit);
  // A user who is signed in, or whose application asks for it, must prove again who they are. The provider must ask them too.
  const again = signedIn !== undefined || (await isAskedToProve(visit, returnTo));
  await leave(visit, connection, signedIn, { connectionId: connection.id, returnTo, linkFor: undefined, again });
};

async function leave(visit: Visit, connection: Connection, signedIn: SignedIn | undefined, detour: Detour): Promise<void> {
  const loginHint = queryMember(visit, "login_hint")?.slice(0, 254);
  try {
    if (detour.again && connection.protocol === "github") throw new Refusal("access_denied", "upstream_cannot_confirm");
    const providers = await visit.ports.providers();
    const secrets = await beginDetour(visit, signedIn, detour);
    sendRedirect(visit.ctx, await providers.authorizationUrl(connection, secrets, { loginHint, again: detour.again }));
  } catch (error) {
    await fail(visit, connection, detour, error);
  }
}

async function isAskedToProve(visit: Visit, { requestId }: ReturnTo): Promise<boolean> {
  if (requestId === undefined) return false;
  const pending = await waitingRequest(visit, requestId);
  if (!pending) throw expired();
  const { prompt, maxAge } = storedRequest(pending.query);
  return maxAge !== undefined || (prompt ?? "").split(" ").includes("login");
}

/** GET /signin/{name}/callback: the browser comes back from a provider. @see OIDC Core §3.1.2.5, RFC 9207 */
export const upstreamCallbackPage = async (visit: Visit) => {
  const { ports } = visit;
  const { secrets, ...detour } = await endDetour(visit, queryMember(visit, "state"));
  const connection = await connectionNamed(visit, nameIn(visit));
  try {
    // A response that came back to the address of another connection is mixed up (RFC 9700 §4.4).
    if (connection.id !== detour.connectionId) throw new Refusal("access_denied", "upstream_mixed_up");
    const url = new URL(`${ports.issuer}/signin/${connection.name}/callback?${queryText(visit.ctx)}`);
    const identity = await (await ports.providers()).identityOf(connection, url, secrets);
    if (detour.linkFor !== undefined) await link(visit, connection, identity, detour.linkFor);
    else await enter(visit, connection, identity, detour.returnTo);
  } catch (error) {
    await fail(visit, connection, detour, error);
  }
};

/** Seconds, and audit records of refused arrivals in them that one address may cause: as many as by wrong passwords. */
const [WINDOW, MOST_RECORDED] = [900, 100];

/** Records refused arrivals, of which strangers can cause any number. */
const boundedRefusals = ({ ports: { refusals, strangerFailures }, caller }: Visit): RefusalLog => ({
  async record(entry) {
    const address = hashSecret(`refused arrivals\n${caller.limitKey}`);
    await strangerFailures.count(address, WINDOW);
    if ((await strangerFailures.failures(address)) <= MOST_RECORDED) await refusals.record(entry);
  },
});

const WORDS = { link_first: "linkFirst", no_account: "noAccount" } as const;

async function enter(visit: Visit, connection: Connection, identity: UpstreamIdentity, returnTo: ReturnTo): Promise<void> {
  const { site } = visit;
  const ports = { ...visit.ports, refusals: boundedRefusals(visit) };
  const arrived = await arrive(connection, identity, ports, browserCaller(visit));
  if (arrived.kind === "half") return sendRedirect(visit.ctx, await beginSecondFactor(visit, arrived.half, returnTo));
  if (arrived.kind !== "signed_in") {
    const [{ kind }, { title }] = [arrived, connection];
    // The identity belongs to no account: an address alone leads into none.
    const { upstream: texts, words } = visit.texts;
    const { title: heading, text } = texts[WORDS[kind]];
    const more = html`<div class="ways">
${wideLink(site.path("/login", returnTo), words.backToSignIn)}
${kind === "no_account" && hasSignUp(ports.signUpPolicy) && html`<a class="button button-quiet button-wide" href="${site.path("/signup", returnTo)}">${words.createAccount}</a>`}
</div>`;
    return sendNotice(visit, { tone: "plain", title: heading, text: text(title), more }, 403);
  }
  sendRedirect(visit.ctx, await enterBrowser(visit, arrived.session, returnTo));
}

/** Links the identity to the user who has asked for it, in the same session. @throws {Refusal} conflict, login_required */
async function link(visit: Visit, connection: Connection, identity: UpstreamIdentity, session: string): Promise<void> {
  const signedIn = await signedInTo(visit);
  if (signedIn?.session.id !== session) throw new Refusal("login_required", SESSION_ENDED);
  await linkIdentity(signedIn, connection, identity, visit.ports, visit.caller);
  sendRedirect(visit.ctx, visit.site.path(donePath(visit, "/account/security", "linked")));
}

const SHOWN: readonly RefusalCode[] = ["access_denied", "unauthenticated", "login_required", "conflict", "temporarily_unavailable"];
/** Reasons that arrive() has recorded, with the user. */
const RECORDED: readonly string[] = ["account_disabled", EMAIL_UNVERIFIED];

/** Shows why a provider did not sign the user in, and records it. @throws any error that is no such reason */
async function fail(visit: Visit, connection: Connection, detour: Detour, error: unknown): Promise<void> {
  const { site } = visit;
  if (!isRefusal(error) || !(SHOWN.includes(error.code) || error.reason === EMAIL_UNVERIFIED)) throw error;
  const recorded = RECORDED.includes(error.reason);
  if (!recorded) await boundedRefusals(visit).record(upstreamRefused(connection, error.reason, visit.caller));
  setRetryHeaders(visit.ctx, error);
  const { title } = connection;
  const { returnTo } = detour;
  const signOutHelps =
    error.reason === "upstream_cannot_confirm" && (await signedInTo(visit)) !== undefined && !(await isAskedToProve(visit, returnTo));
  const { upstream: texts, refusals, words } = visit.texts;
  const text =
    error.reason === EMAIL_UNVERIFIED
      ? refusals.reasons.email_unverified
      : failedText(texts.failed, error.reason, title, site.host, signOutHelps);
  const more =
    detour.linkFor === undefined
      ? wideLink(site.path("/login", returnTo), words.backToSignIn)
      : wideLink(site.path("/account/security"), texts.toSecurity);
  sendNotice(visit, { tone: "bad", title: texts.failed.title(title), text, more }, CATALOGUE[error.code].http);
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
export const identitiesPage = provedForm(async (visit, form, signedIn) => {
  const toLink = form.get("link");
  if (toLink !== undefined) return startLink(visit, signedIn, toLink);
  try {
    await goneAfter(unlink(visit, signedIn, form.get("unlink") ?? ""));
    return donePath(visit, "/account/security", "unlinked");
  } catch (error) {
    await showSecurity(visit, signedIn, failedForm(visit, error, []));
  }
});

async function startLink(visit: Visit, signedIn: SignedIn, name: string): Promise<undefined> {
  const connection = await connectionNamed(visit, name);
  await leave(visit, connection, signedIn, { connectionId: connection.id, returnTo: {}, linkFor: signedIn.session.id, again: false });
}

/** @param named issuer and subject, as the page wrote them */
async function unlink({ ports, caller }: Visit, signedIn: SignedIn, named: string): Promise<void> {
  const [issuer = "", subject = ""] = [named.slice(0, named.indexOf(" ")), named.slice(named.indexOf(" ") + 1)];
  const known = (await ports.identityLinks.ofUser(signedIn.user.id)).find((each) => each.issuer === issuer && each.subject === subject);
  await unlinkIdentity(signedIn, { issuer, subject }, known?.title ?? issuer, ports, caller);
}
