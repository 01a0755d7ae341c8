import type { AccountPorts } from "../accounts/account-ports.ts";
import { auditOfUser, type Caller } from "../accounts/caller.ts";
import { mailOf } from "../accounts/mails.ts";
import type { Account, SignedIn, User } from "../accounts/ports.ts";
import { FEDERATED, type HalfSignedIn, type NewSession, signInRefused, startSession } from "../accounts/sign-in.ts";
import { assertMaySignUp, EMAIL_UNVERIFIED, needsProof, roleOfSignUp, type SignUpPolicy } from "../accounts/sign-up-policy.ts";
import type { AuditEntry } from "../audit.ts";
import { isRefusal, Refusal } from "../errors.ts";
import { isAsStrong, PASSWORD_ACR, PHISHING_RESISTANT_ACR, TWO_FACTOR_ACR } from "../protocol/authentication-context.ts";
import { newId } from "../random.ts";
import { type Connection, connectionUnknown, isTrustedFor } from "./connection.ts";
import type { Identity, IdentityLinks, LinkedUser, UpstreamIdentity } from "./ports.ts";

export interface UpstreamPorts extends AccountPorts {
  readonly identityLinks: IdentityLinks;
}

export type ArrivedUser =
  | { readonly kind: "signed_in"; readonly session: NewSession }
  /** The user has a second factor, which the provider has not proved. */
  | { readonly kind: "half"; readonly half: HalfSignedIn }
  | { readonly kind: "link_first" | "no_account" };

export const upstreamRefused = ({ issuer }: Pick<Connection, "issuer">, reason: string, caller: Caller, user?: User): AuditEntry => ({
  ...signInRefused(reason, user, caller),
  resources: [issuer],
});

/**
 * Signs in the user of an identity, and opens an account for it where the connection is trusted for its address.
 * @throws {Refusal} unauthenticated for a disabled user; forbidden while the address must be proved first; not_found for a connection that
 *   has been disabled since
 */
export async function arrive(...arriving: Parameters<typeof arriveOnce>): Promise<ArrivedUser> {
  // The second time reads what has changed between the first reading and its session: account, app, link or connection.
  const arrived = (await arriveOnce(...arriving)) ?? (await arriveOnce(...arriving));
  if (arrived === undefined) throw connectionUnknown();
  return arrived;
}

/** @returns undefined where an enabled user got no session */
async function arriveOnce(
  connection: Connection,
  identity: UpstreamIdentity,
  ports: UpstreamPorts,
  caller: Caller,
): Promise<ArrivedUser | undefined> {
  let arrival = await arrivalOf(connection, identity, ports);
  if (arrival.kind === "open_account") {
    await openAccount(arrival.email, connection, identity, ports, caller);
    arrival = await arrivalOf(connection, identity, ports); // finds the account, which another caller may have opened
  }
  if (arrival.kind === "sign_in") return enter(arrival, connection, identity, ports, caller);
  const reason = arrival.kind === "link_first" ? "identity_not_linked" : "account_unknown";
  await ports.refusals.record(upstreamRefused(connection, reason, caller));
  return { kind: arrival.kind === "link_first" ? "link_first" : "no_account" };
}

async function arrivalOf(connection: Connection, identity: UpstreamIdentity, ports: UpstreamPorts): Promise<Arrival> {
  const linked = await ports.identityLinks.userOf(identity);
  const account = linked || identity.email === undefined ? undefined : await ports.users.byEmail(identity.email);
  return decideArrival({ identity, connection, linked, addressTaken: account !== undefined, policy: ports.signUpPolicy });
}

async function openAccount(
  email: string,
  { realmId, issuer }: Connection,
  identity: UpstreamIdentity,
  { identityLinks, signUpPolicy, clock, randomBytes }: UpstreamPorts,
  caller: Caller,
): Promise<void> {
  const id = newId(clock, randomBytes);
  const about = { reason: "connection", resources: [issuer] };
  const audits = [auditOfUser("user.registered", id, caller, about), auditOfUser("identity.linked", id, caller, about)];
  const { firstName = null, lastName = null } = identity;
  await identityLinks.open({ id, realmId, email, firstName, lastName, role: roleOfSignUp(signUpPolicy) }, identity, audits);
}

/** How strongly the user has proved who they are: like a password, unless the operator believes what the provider says. Pure. */
export function authenticationOf({ acr, amr }: Pick<UpstreamIdentity, "acr" | "amr">, { trustsAcr }: Pick<Connection, "trustsAcr">) {
  if (!trustsAcr) return { acr: PASSWORD_ACR, amr: FEDERATED };
  if (acr === "phr" || acr === "phrh") return { acr: PHISHING_RESISTANT_ACR, amr: FEDERATED };
  return amr.includes("mfa") || acr === TWO_FACTOR_ACR
    ? { acr: TWO_FACTOR_ACR, amr: [...FEDERATED, "mfa"] }
    : { acr: PASSWORD_ACR, amr: FEDERATED };
}

async function enter(
  { user, hasSecondFactor }: Extract<Arrival, { kind: "sign_in" }>,
  connection: Connection,
  identity: UpstreamIdentity,
  ports: UpstreamPorts,
  caller: Caller,
): Promise<ArrivedUser | undefined> {
  const { issuer, subject, sid } = identity;
  if (needsProof(user, ports.signUpPolicy)) {
    await ports.refusals.record(upstreamRefused({ issuer }, EMAIL_UNVERIFIED, caller, user));
    throw new Refusal("forbidden", EMAIL_UNVERIFIED, { description: "Confirm your e-mail address first, by the link in the mail." });
  }
  const proved = authenticationOf(identity, connection);
  const upstream = { issuer, subject, sid };
  if (user.enabled && hasSecondFactor && !isAsStrong(proved.acr, TWO_FACTOR_ACR))
    return { kind: "half", half: { userId: user.id, generation: null, upstream } };
  const provedAt = identity.authTime === undefined ? {} : { provedAt: Math.min(identity.authTime, ports.clock()) };
  const session = await startSession({ account: { user }, ...proved, upstream, ...provedAt }, "connection", ports, caller);
  if (session) return { kind: "signed_in", session };
  if (user.enabled) return undefined;
  await ports.refusals.record(upstreamRefused({ issuer }, "account_disabled", caller, user));
  throw new Refusal("unauthenticated", "account_disabled", { description: "This account cannot sign in." });
}

export type Arrival =
  | ({ readonly kind: "sign_in" } & Pick<Account, "user" | "hasSecondFactor">)
  | { readonly kind: "open_account"; readonly email: string }
  /** The user has an account, and must sign in to it to link the identity. */
  | { readonly kind: "link_first" }
  | { readonly kind: "no_account" };

export interface Arriving {
  readonly identity: Pick<UpstreamIdentity, "email" | "emailVerified">;
  readonly connection: Pick<Connection, "domains">;
  readonly linked: LinkedUser | undefined;
  /** Whether the identity's address has an account. */
  readonly addressTaken: boolean;
  readonly policy: SignUpPolicy;
}

/**
 * Decides on a user whom a provider has named. Pure. An address alone never leads into an account that exists.
 * @see docs/protocol.md#upstream-sign-in
 */
export function decideArrival({ identity, connection, linked, addressTaken, policy }: Arriving): Arrival {
  if (linked?.confirmed) return { kind: "sign_in", user: linked.user, hasSecondFactor: linked.hasSecondFactor };
  const { email, emailVerified } = identity;
  if (linked || (addressTaken && emailVerified)) return { kind: "link_first" };
  const opens = email !== undefined && emailVerified && isTrustedFor(connection, email) && maySignUp(email, policy);
  return opens ? { kind: "open_account", email } : { kind: "no_account" };
}

function maySignUp(email: string, policy: SignUpPolicy): boolean {
  try {
    assertMaySignUp(email, policy);
    return true;
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return false;
  }
}

/** Links an identity to the signed-in user, and notifies them. Idempotent. @throws {Refusal} conflict for an identity of another user */
export async function linkIdentity(
  { user, session }: SignedIn,
  { issuer, title }: Connection,
  identity: UpstreamIdentity,
  { identityLinks, ...ports }: UpstreamPorts,
  caller: Caller,
): Promise<void> {
  const audit = auditOfUser("identity.linked", user.id, caller, { reason: "by_user", resources: [issuer] });
  const outcome = await identityLinks.link(session, identity, mailOf("identityLinked", ports, user, caller, title), audit);
  if (outcome !== "taken") return;
  throw new Refusal("conflict", "identity_taken", { description: "This identity already signs in to another account." });
}

/** Unlinks an identity of the signed-in user, and notifies them. @throws {Refusal} conflict for the last way to sign in */
export async function unlinkIdentity(
  { user, session }: SignedIn,
  identity: Identity,
  title: string,
  { identityLinks, ...ports }: UpstreamPorts,
  caller: Caller,
): Promise<void> {
  const audit = auditOfUser("identity.unlinked", user.id, caller, { reason: "by_user", resources: [identity.issuer] });
  const outcome = await identityLinks.unlink(session, identity, mailOf("identityUnlinked", ports, user, caller, title), audit);
  if (outcome === "last") throw new Refusal("conflict", "last_way_in", { description: "This is the only way to sign in to the account." });
  if (outcome === "unknown") throw new Refusal("not_found", "identity_unknown", { description: "This identity is not linked." });
}
