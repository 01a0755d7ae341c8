import { memberRefusal, Refusal } from "../errors.ts";
import { hashSecret, newHexSecret, type SecretHash } from "../random.ts";
import type { AccountPorts } from "./account-ports.ts";
import { accountName, assertMayMail, auditOfUser, auditOrigin, type Caller } from "./caller.ts";
import {
  accountClosedMail,
  addressChangedMail,
  addressChangeMail,
  addressProofMail,
  linkTokenHash,
  senderOf,
  unusableLink,
} from "./mails.ts";
import type { SignedIn, User, Users } from "./ports.ts";
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
  const message = accountClosedMail(caller.language, senderOf(ports, user.realmId));
  const outcome = await ports.closing.close(user.id, session.id, message, audit);
  if (outcome === "last_operator") throw lastOperator();
}

export const lastOperator = (): Refusal =>
  new Refusal("conflict", "last_operator", { description: "This is the last operator. Make another user an operator first." });

/** Hours in which the link to the new address works. */
const PROOF_HOURS = 24;
/** Days in which the link to the former address stops or undoes the change. */
const STOP_DAYS = 7;

/** The reason of a link that is malformed, unknown, used or expired. */
export const ADDRESS_LINK_UNUSABLE = "address_link_unusable";

const tokenHashOf = (token: string): SecretHash => linkTokenHash(token, ADDRESS_LINK_UNUSABLE);

/**
 * Sends a link to the new address, and notifies the former one. The caller has made sure of a fresh proof of the user.
 * @throws {Refusal} invalid_request for the same address, forbidden by SIGN_UP, conflict for an address with an account, too_many_requests
 * @see docs/protocol.md#change-of-address
 */
export async function requestAddressChange({ user, session }: SignedIn, email: string, ports: AccountPorts, caller: Caller): Promise<void> {
  const { addressChanges, resendLimits, knownDevices, signUpPolicy, randomBytes } = ports;
  if (accountName(email) === accountName(user.email))
    throw memberRefusal("invalid_request", "address_unchanged", "email", "This is the address of your account already.");
  assertDomain(email, signUpPolicy);
  await assertMayMail(email, caller, resendLimits, knownDevices);
  const [proof, stop] = [newHexSecret(randomBytes), newHexSecret(randomBytes)];
  const [{ language }, sender] = [caller, senderOf(ports, user.realmId)];
  const change = {
    session,
    email,
    proof: { tokenHash: hashSecret(proof), ttl: PROOF_HOURS * 3600, mail: addressProofMail(language, sender, proof, PROOF_HOURS) },
    stop: user.emailVerified
      ? { tokenHash: hashSecret(stop), ttl: STOP_DAYS * 86_400, mail: addressChangeMail(language, sender, stop, email, STOP_DAYS * 24) }
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
  const mail = addressChangedMail(caller.language, senderOf(ports, user.realmId), email);
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
