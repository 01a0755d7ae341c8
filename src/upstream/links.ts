import { auditOfUser, type Caller } from "../accounts/caller.ts";
import { identityLinkedMail, identityUnlinkedMail, type MailSenderPorts, senderOf } from "../accounts/mails.ts";
import type { SignedIn } from "../accounts/ports.ts";
import { Refusal } from "../errors.ts";
import type { Connection } from "./connection.ts";
import type { Identity, IdentityLinks, UpstreamIdentity } from "./ports.ts";

export interface LinkPorts extends MailSenderPorts {
  readonly identityLinks: IdentityLinks;
}

/** Links an identity to the signed-in user, and notifies them. Idempotent. @throws {Refusal} conflict for an identity of another user */
export async function linkIdentity(
  { user: { id, realmId }, session }: SignedIn,
  { issuer, title }: Connection,
  identity: UpstreamIdentity,
  { identityLinks, ...ports }: LinkPorts,
  caller: Caller,
): Promise<void> {
  const audit = auditOfUser("identity.linked", id, caller, { reason: "by_user", resources: [issuer] });
  const outcome = await identityLinks.link(session, identity, identityLinkedMail(caller.language, senderOf(ports, realmId), title), audit);
  if (outcome !== "taken") return;
  throw new Refusal("conflict", "identity_taken", { description: "This identity already signs in to another account." });
}

/** Unlinks an identity of the signed-in user, and notifies them. @throws {Refusal} conflict for the last way to sign in */
export async function unlinkIdentity(
  { user: { id, realmId }, session }: SignedIn,
  identity: Identity,
  title: string,
  { identityLinks, ...ports }: LinkPorts,
  caller: Caller,
): Promise<void> {
  const audit = auditOfUser("identity.unlinked", id, caller, { reason: "by_user", resources: [identity.issuer] });
  const message = identityUnlinkedMail(caller.language, senderOf(ports, realmId), title);
  const outcome = await identityLinks.unlink(session, identity, message, audit);
  if (outcome === "last") throw new Refusal("conflict", "last_way_in", { description: "This is the only way to sign in to the account." });
  if (outcome === "unknown") throw new Refusal("not_found", "identity_unknown", { description: "This identity is not linked." });
}
