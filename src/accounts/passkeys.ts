import type { AuthenticatorTransport, PublicKeyCredentialCreationOptionsJSON } from "@simplewebauthn/server";
import { Refusal } from "../errors.ts";
import { newId } from "../random.ts";
import { type PasskeyPorts, type PasskeyProof, userHandle } from "./authenticators/passkey.ts";
import {
  beginChallenge,
  CHALLENGE_TTL,
  passkeyRefused,
  RegistrationAnswer,
  type RelyingParty,
  readAnswer,
  takeChallenge,
  webauthn,
} from "./authenticators/webauthn.ts";
import { auditOfUser, type Caller } from "./caller.ts";
import { deviceOf } from "./device.ts";
import { passkeyAddedMail, passkeyRemovedMail, senderOf } from "./mails.ts";
import type { SignedIn, User } from "./ports.ts";

/** The most characters of a name. */
const MAX_NAME = 60;

/** What a browser needs to make a passkey that identifies its user by itself. @throws {Refusal} too_many_requests */
export async function passkeyCreationOptions(
  user: User,
  { id }: RelyingParty,
  browser: string,
  ports: PasskeyPorts,
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  const challenge = await beginChallenge("passkey_registration", { userId: user.id, holder: `user ${user.id}`, browser }, ports);
  const { generateRegistrationOptions } = await webauthn();
  const known = await ports.passkeys.keysOf(user.id);
  return generateRegistrationOptions({
    rpID: id,
    rpName: ports.brandings.of(user.realmId).name ?? new URL(ports.issuer).host,
    userID: userHandle(user.id),
    userName: user.email,
    userDisplayName: [user.firstName, user.lastName].filter(Boolean).join(" ") || user.email,
    challenge,
    timeout: CHALLENGE_TTL * 1000,
    attestationType: "none",
    excludeCredentials: known.map(({ credentialId, transports }) => ({
      id: Buffer.from(credentialId).toString("base64url"),
      transports: transports as AuthenticatorTransport[],
    })),
    authenticatorSelection: { residentKey: "required", userVerification: "required" },
  });
}

async function verifiedPasskey({ response, browser }: PasskeyProof, userId: string, ports: PasskeyPorts) {
  const { relyingParty } = ports;
  if (relyingParty === undefined) throw passkeyRefused("passkeys_unavailable");
  const answer = readAnswer(RegistrationAnswer, response);
  const taken = await takeChallenge("passkey_registration", answer.response.clientDataJSON, browser, ports);
  if (taken.userId !== userId) throw passkeyRefused("passkey_challenge");
  const { verifyRegistrationResponse } = await webauthn();
  const outcome = await verifyRegistrationResponse({
    response: answer,
    expectedChallenge: taken.challenge,
    expectedOrigin: relyingParty.origin,
    expectedRPID: relyingParty.id,
    requireUserVerification: true,
  }).catch(() => undefined); // the library throws for every answer that is malformed or of another origin
  if (!outcome?.verified) throw passkeyRefused("passkey_invalid");
  return outcome.registrationInfo;
}

/** A name that is not empty. Control characters and those that change the direction of text are dropped. */
const shownName = (name: string, otherwise: string): string =>
  name
    .toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, "")
    .trim()
    .slice(0, MAX_NAME) || otherwise;

/** The name of a passkey whose user gave none: the system and browser where it was made. */
function nameHere({ userAgent }: Caller): string {
  const { browser, system } = deviceOf(userAgent);
  return [browser, system].filter((word) => word !== null).join(", ") || "Passkey";
}

/** Adds the passkey that a browser has made, and notifies the user. @throws {Refusal} unauthenticated, conflict */
export async function addPasskey(
  { user, session }: SignedIn,
  name: string,
  proof: PasskeyProof,
  ports: PasskeyPorts,
  caller: Caller,
): Promise<void> {
  const { credential, credentialBackedUp, aaguid } = await verifiedPasskey(proof, user.id, ports);
  const added = await ports.passkeys.add(
    {
      id: newId(ports.clock, ports.randomBytes),
      userId: user.id,
      credentialId: Buffer.from(credential.id, "base64url"),
      publicKey: credential.publicKey,
      counter: credential.counter,
      transports: credential.transports ?? [],
      backedUp: credentialBackedUp,
      aaguid,
      name: shownName(name, nameHere(caller)),
    },
    session.id,
    passkeyAddedMail(caller.language, senderOf(ports, user.realmId)),
    auditOfUser("passkey.added", user.id, caller),
  );
  if (!added) throw new Refusal("conflict", "passkey_not_added", { description: "This passkey is known already, or you have too many." });
}

const unknown = () => new Refusal("not_found", "passkey_unknown", { description: "There is no such passkey." });

/** @throws {Refusal} not_found, also for another user's */
export async function renamePasskey(id: string, user: User, name: string, { passkeys }: PasskeyPorts, caller: Caller): Promise<void> {
  if (!(await passkeys.rename(id, user.id, shownName(name, nameHere(caller)), auditOfUser("passkey.changed", user.id, caller))))
    throw unknown();
}

/** Removes a passkey and notifies the user. @throws {Refusal} not_found; conflict for the last way to sign in */
export async function removePasskey(id: string, { user, session }: SignedIn, ports: PasskeyPorts, caller: Caller): Promise<void> {
  const message = passkeyRemovedMail(caller.language, senderOf(ports, user.realmId));
  const outcome = await ports.passkeys.remove(id, user.id, session.id, message, auditOfUser("passkey.removed", user.id, caller));
  if (outcome === "unknown") throw unknown();
  if (outcome === "last")
    throw new Refusal("conflict", "last_way_in", { description: "This is your only way to sign in. Add another one first." });
}
