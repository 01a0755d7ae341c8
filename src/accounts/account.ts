import type { AuditEntry } from "../audit.ts";
import { memberRefusal, Refusal } from "../errors.ts";
import { isUuid, newId, type SecretHash } from "../random.ts";
import { LANGUAGES, type Language, shownDuration, TEXTS, type Texts } from "../texts/languages.ts";
import type { AccountPorts } from "./account-ports.ts";
import { accountName, assertMayMail, auditOfUser, auditOrigin, type Caller } from "./caller.ts";
import type { DelegationRepository } from "./delegations.ts";
import { linkTokenHash, mailedLink, mailOf, unusableLink } from "./mails.ts";
import type { Consents, NewConsent, RefusalLog, Sessions, SignedIn, User, Users } from "./ports.ts";
import { emailTaken, type NewName } from "./registration.ts";
import { assertDomain } from "./sign-up-policy.ts";

/** Changes the name of a user. An empty part is stored as none, and an unchanged name is not recorded. */
export async function rename(user: User, name: NewName, users: Users, caller: Caller): Promise<void> {
  const stored = { firstName: name.firstName?.trim() || null, lastName: name.lastName?.trim() || null };
  await users.rename(user.id, stored, auditOfUser("user.changed", user.id, caller, { reason: "name" }));
}

/** Deletes the account of a user who has just proved that it is them. @throws {Refusal} conflict for the last operator */
export async function closeAccount({ user, session }: SignedIn, ports: AccountPorts, caller: Caller): Promise<void> {
  const audit = auditOfUser("user.deleted", user.id, caller, { reason: "by_owner" });
  const message = mailOf("accountClosed", ports, user, caller);
  const outcome = await ports.closing.close(user.id, session.id, message, audit);
  if (outcome === "last_operator") throw lastOperator();
}

export const lastOperator = (): Refusal =>
  new Refusal("conflict", "last_operator", { description: "This is the last operator. Make another user an operator first." });

/** Seconds in which the link to the new address works. */
const PROOF_TTL = 86_400;
/** Seconds in which the link to the former address stops or undoes the change. */
const STOP_TTL = 7 * 86_400;

/** The reason of a link that is malformed, unknown, used or expired. */
export const ADDRESS_LINK_UNUSABLE = "address_link_unusable";

const tokenHashOf = (token: string): SecretHash => linkTokenHash(token, ADDRESS_LINK_UNUSABLE);

/**
 * Sends a link to the new address, and notifies the former one. The caller has made sure of a fresh proof of the user.
 * @throws {Refusal} invalid_request for the same address, forbidden by SIGN_UP, conflict for an address with an account, too_many_requests
 * @see docs/protocol.md#change-of-address
 */
export async function requestAddressChange({ user, session }: SignedIn, email: string, ports: AccountPorts, caller: Caller): Promise<void> {
  const { addressChanges, resendLimits, knownDevices, signUpPolicy } = ports;
  if (accountName(email) === accountName(user.email))
    throw memberRefusal("invalid_request", "address_unchanged", "email", "This is the address of your account already.");
  assertDomain(email, signUpPolicy);
  await assertMayMail(email, caller, resendLimits, knownDevices);
  const { language } = caller;
  const change = {
    session,
    email,
    proof: mailedLink("addressProof", PROOF_TTL, ports, user, language, shownDuration(language, PROOF_TTL)),
    stop: user.emailVerified
      ? mailedLink("addressChange", STOP_TTL, ports, user, language, email, shownDuration(language, STOP_TTL))
      : undefined,
  };
  if (!(await addressChanges.request(change, auditOfUser("address.change_requested", user.id, caller)))) throw emailTaken();
}

/** The change that a link would confirm for a user. @throws {Refusal} invalid_request, also for another user's link */
export async function changeToConfirm(token: string, user: User, { addressChanges }: Pick<AccountPorts, "addressChanges">) {
  const change = await addressChanges.byProof(tokenHashOf(token));
  if (change?.userId !== user.id) throw unusableLink(ADDRESS_LINK_UNUSABLE);
  return change;
}

/**
 * Gives the account the address that the link proves. Only its own signed-in user can do it: a stranger who is sent a link to an account that is
 * not theirs must not confirm it.
 * @throws {Refusal} invalid_request for a link that does not work, conflict for an address that has an account now
 */
export async function confirmAddressChange(
  token: string,
  { user, session }: SignedIn,
  { addressChanges, ...ports }: AccountPorts,
  caller: Caller,
): Promise<void> {
  const { email } = await changeToConfirm(token, user, { addressChanges });
  const mail = mailOf("addressChanged", ports, user, caller, email);
  const outcome = await addressChanges.confirm(tokenHashOf(token), session, mail, auditOfUser("address.changed", user.id, caller));
  if (outcome === undefined) throw unusableLink(ADDRESS_LINK_UNUSABLE);
  if (outcome === "taken") throw emailTaken();
}

/** The change that a link would stop. @throws {Refusal} invalid_request */
export async function changeToStop(token: string, { addressChanges }: Pick<AccountPorts, "addressChanges">) {
  const change = await addressChanges.byStop(tokenHashOf(token));
  if (change === undefined) throw unusableLink(ADDRESS_LINK_UNUSABLE);
  return change;
}

/**
 * Stops or undoes a change by the link to the former address: someone else may know the password, so it is removed too.
 * @throws {Refusal} invalid_request for a link that does not work, conflict when the former address has another account now
 */
export async function stopAddressChange(token: string, { addressChanges }: Pick<AccountPorts, "addressChanges">, caller: Caller) {
  const { userId } = await changeToStop(token, { addressChanges });
  const stopped = await addressChanges.stop(tokenHashOf(token), {
    event: "address.change_stopped",
    outcome: "success",
    actor: { type: "service", id: "address-link" }, // by the former mailbox
    userId,
    ...auditOrigin(caller),
  });
  if (stopped === undefined) throw unusableLink(ADDRESS_LINK_UNUSABLE);
  if (stopped === "taken") throw emailTaken();
  return stopped;
}

/** The reason of a refusal: the session lived when the request came, and has ended since. */
export const SESSION_ENDED = "session_ended";

/** @param clientId of the access token in the request */
const sessionEnded = (userId: string, caller: Caller, reason: string, clientId?: string): AuditEntry =>
  auditOfUser("session.ended", userId, caller, { reason, ...(clientId !== undefined && { clientId }) });

/** Ends every session and refresh family of a user. @param clientId of the access token in the request @see docs/protocol.md#sessions */
export async function signOutEverywhere(userId: string, sessions: Sessions, caller: Caller, clientId?: string): Promise<void> {
  await sessions.endAll(userId, sessionEnded(userId, caller, "signed_out_everywhere", clientId));
}

/** Ends one session of a user, with the token set that it started with. @throws {Refusal} not_found, also for another user's */
export async function signOutElsewhere(id: string, userId: string, sessions: Sessions, caller: Caller): Promise<void> {
  const ended = await sessions.endOne(id, userId, sessionEnded(userId, caller, "signed_out_elsewhere"));
  if (!ended) throw new Refusal("not_found", "session_unknown", { description: "There is no such session." });
}

/** Ends the session of the request in the same way. Idempotent. @param clientId of the access token in the request */
export async function signOutHere(id: string, userId: string, sessions: Sessions, caller: Caller, clientId?: string): Promise<void> {
  await sessions.endOne(id, userId, sessionEnded(userId, caller, "signed_out", clientId));
}

/** Ends a grant of the command line, with all of its tokens. Idempotent. */
export async function signOutCommandLine(
  grantId: string,
  userId: string,
  { cut }: Pick<DelegationRepository, "cut">,
  caller: Caller,
): Promise<void> {
  await cut({ kind: "user", userId }, { kind: "grant", id: grantId }, sessionEnded(userId, caller, "signed_out"));
}

/** Ends every session of a user but one in the same way. */
export async function signOutOthers(keep: string, userId: string, sessions: Sessions, caller: Caller): Promise<void> {
  await sessions.endOthers(keep, userId, sessionEnded(userId, caller, "signed_out_others"));
}

type GivenConsent = Omit<NewConsent, "id">;

/** Stores what a user allowed, in addition to what they allowed before. @throws {Refusal} invalid_target where the consent is full */
export async function giveConsent(consent: GivenConsent, { consents, clock, randomBytes }: AccountPorts, caller: Caller): Promise<void> {
  const { userId, clientId, scopes, resources } = consent;
  const audit = auditOfUser("consent.given", userId, caller, { clientId, scope: scopes.join(" "), resources });
  if (await consents.give({ id: newId(clock, randomBytes), ...consent }, audit)) return;
  const description =
    "The user has allowed this client as many resources as one consent holds. They can remove it from their account and begin again.";
  throw new Refusal("invalid_target", "consent_full", { description });
}

/** Records that a user denied a request. The next request asks again. */
export async function denyConsent(
  { userId, clientId, scopes, resources }: Omit<GivenConsent, "clientName" | "sessionId">,
  refusals: RefusalLog,
  caller: Caller,
): Promise<void> {
  const about = { outcome: "failure", reason: "denied_by_user", clientId, scope: scopes.join(" "), resources } as const;
  await refusals.record(auditOfUser("consent.denied", userId, caller, about));
}

/** Revokes a consent, with everything that the client got by it. @throws {Refusal} not_found, also for another user's consent */
export async function revokeConsent(id: string, userId: string, consents: Consents, caller: Caller): Promise<void> {
  const revoked = isUuid(id) && (await consents.revoke(id, userId, auditOfUser("consent.revoked", userId, caller)));
  if (!revoked) throw new Refusal("not_found", "consent_unknown", { description: "There is no such consent." });
}

/** A text in at least one language. */
export type Wording = { readonly [L in Language]?: string | undefined };

/** What a scope allows, in words for users. */
export type ScopeDescription = { readonly name: string; readonly title: Wording; readonly detail: Wording };

export interface ScopeDescriptions {
  /** How operators describe some of these scopes, by name: in a realm, else in the default one, in which the clients are. */
  of(realmId: string, names: readonly string[]): Promise<ReadonlyMap<string, ScopeDescription>>;
}

/** Descriptions of the built-in scopes, which operators can replace. */
export const BUILT_IN_SCOPES: readonly ScopeDescription[] = (Object.keys(TEXTS.en.builtInScopes) as (keyof Texts["builtInScopes"])[]).map(
  (name) => ({ name, title: inAllLanguages(name, "title"), detail: inAllLanguages(name, "detail") }),
);

function inAllLanguages(name: keyof Texts["builtInScopes"], part: "title" | "detail"): Wording {
  return Object.fromEntries(LANGUAGES.map((language) => [language, TEXTS[language].builtInScopes[name][part]]));
}
