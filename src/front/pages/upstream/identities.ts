import type { SignedIn } from "../../../accounts/ports.ts";
import { unlinkIdentity } from "../../../upstream/links.ts";
import { donePath } from "../../done.ts";
import { callerOf } from "../../http/address.ts";
import type { FrontContext, Handler } from "../../http/routes.ts";
import { provedForm } from "../fresh-proof.ts";
import { failedForm, goneAfter, type PageKit } from "../kit.ts";
import { showSecurity } from "../security/page.ts";
import { connectionNamed } from "./detour.ts";
import { leave } from "./page.ts";

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
