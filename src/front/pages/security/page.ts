import type { SignedIn } from "../../../accounts/ports.ts";
import { signOutElsewhere, signOutOthers } from "../../../accounts/sessions.ts";
import { TEXTS } from "../../../texts/languages.ts";
import { donePath } from "../../done.ts";
import { callerOf } from "../../http/address.ts";
import { pageHeaders, SCRIPTED_POLICY } from "../../http/headers.ts";
import { languageOf } from "../../http/language.ts";
import type { FrontContext, Handler } from "../../http/routes.ts";
import { accountForm, accountPageHandler, accountToken, appOverFaults, goneAfter, goneForm, type PageKit } from "../kit.ts";
import { type FailedForm, sendPage } from "../views/layout.ts";
import { type SecurityPage, securityView } from "./view.ts";

/** The page about password, other accounts and sessions. */
export async function showSecurity(
  kit: PageKit,
  ctx: FrontContext,
  { user, session }: SignedIn,
  { done, faults = [], status }: Partial<Pick<SecurityPage, "done">> & FailedForm,
): Promise<void> {
  const { ports, site } = kit;
  const [sessions, linked, connections, passkeys, secondFactor] = await Promise.all([
    ports.sessions.ofUser(user.id),
    ports.identityLinks.ofUser(user.id),
    ports.connections.offered(undefined),
    ports.relyingParty && ports.passkeys.ofUser(user.id),
    ports.secondFactors.stateOf(user.id),
  ]);
  const token = accountToken(kit, ctx, user);
  const apps = ports.box.usable();
  const identities = linked.filter(({ confirmed }) => confirmed);
  const page = { token, apps, sessions, identities, connections, passkeys, secondFactor, current: session.id, done, faults };
  sendPage(ctx, securityView(site, languageOf(ctx), page), status);
  if (passkeys) pageHeaders(ctx, SCRIPTED_POLICY);
}

/** Shows the page where a form was about something that another tab has removed. @throws any other error */
export async function showGone(kit: PageKit, ctx: FrontContext, signedIn: SignedIn, error: unknown, what: "passkeyGone" | "appGone") {
  await showSecurity(kit, ctx, signedIn, goneForm(error, TEXTS[languageOf(ctx)].security[what]));
  return undefined;
}

/** GET /account/security: the password, and where the user is signed in. */
export const securityPage = (kit: PageKit): Handler =>
  accountPageHandler(kit, (ctx, { signedIn, done }) => showSecurity(kit, ctx, signedIn, { done, faults: appOverFaults(ctx, done) }));

/** POST /account/security/sessions/end: signs out one session elsewhere. */
export const endSessionPage = (kit: PageKit): Handler =>
  accountForm(kit, async (ctx, form, { user }) => {
    await goneAfter(signOutElsewhere(form.get("session") ?? "", user.id, kit.ports.sessions, callerOf(ctx)));
    return donePath(kit, ctx, "/account/security", "session");
  });

/** POST /account/security/sessions/end-others: signs out every session but this one. */
export const endOtherSessionsPage = (kit: PageKit): Handler =>
  accountForm(kit, async (ctx, _form, { user, session }) => {
    await signOutOthers(session.id, user.id, kit.ports.sessions, callerOf(ctx));
    return donePath(kit, ctx, "/account/security", "others");
  });
