import type {
  AuthenticatorTransport,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from "@simplewebauthn/server";
import { isRefusal, Refusal } from "../../errors.ts";
import { PHISHING_RESISTANT_ACR } from "../../protocol/authentication-context.ts";
import { keptName } from "../../protocol/display-name.ts";
import { newId } from "../../random.ts";
import type { AccountPorts } from "../account-ports.ts";
import { auditOfUser, type Caller } from "../caller.ts";
import { deviceOf } from "../device.ts";
import type { FoundPasskey, PasskeyUse, RelyingParty } from "../factors.ts";
import { mailOf } from "../mails.ts";
import type { SignedIn, User } from "../ports.ts";
import type { ProofOutcome, UseProof } from "./proof.ts";
import {
  AuthenticationAnswer,
  beginChallenge,
  CHALLENGE_TTL,
  passkeyRefused,
  RegistrationAnswer,
  readAnswer,
  takeChallenge,
  webauthn,
} from "./webauthn.ts";

/** A browser's answer as JSON, and the secret of the browser that requested the challenge. */
export type PasskeyProof = { readonly response: string; readonly browser: string };

/** What a browser needs to ask for a passkey of any user. @throws {Refusal} too_many_requests */
export async function passkeyOptions(
  { id }: RelyingParty,
  browser: string,
  ports: AccountPorts,
  { limitKey }: Caller,
): Promise<PublicKeyCredentialRequestOptionsJSON> {
  const challenge = await beginChallenge("passkey_sign_in", { userId: null, holder: `address ${limitKey}`, browser }, ports);
  const { generateAuthenticationOptions } = await webauthn();
  return generateAuthenticationOptions({ rpID: id, challenge, userVerification: "required", timeout: CHALLENGE_TTL * 1000 });
}

type Judgement =
  | { readonly reason: string; readonly passkey?: FoundPasskey; readonly backedUp?: never }
  | { readonly passkey: FoundPasskey; readonly backedUp: boolean; readonly reason?: never };

/** Verifies an answer and counts the use. Every answer uses up its challenge. */
async function judge({ response, browser }: PasskeyProof, { passkeys, relyingParty, ...ports }: AccountPorts): Promise<Judgement> {
  if (relyingParty === undefined) return { reason: "passkeys_unavailable" };
  const answer = readAnswer(AuthenticationAnswer, response);
  const { challenge } = await takeChallenge("passkey_sign_in", answer.response.clientDataJSON, browser, ports);
  const passkey = await passkeys.byCredential(Buffer.from(answer.id, "base64url"));
  if (passkey === undefined) return { reason: "passkey_unknown" };
  // The user is not known before, so the answer must say who it is (WebAuthn L3 §7.2).
  if (answer.response.userHandle === undefined) return { reason: "passkey_names_no_user", passkey };
  if (answer.response.userHandle !== userHandle(passkey.user.id).toString("base64url"))
    return { reason: "passkey_of_another_user", passkey };
  const use = await verifiedUse(answer, challenge, passkey, relyingParty);
  if (use === undefined) return { reason: "passkey_invalid", passkey };
  return (await passkeys.use(passkey.id, use)) ? { passkey, ...use } : { reason: "passkey_copied", passkey };
}

/** @returns what the authenticator says of its key; undefined for an answer that does not verify, as without user verification */
async function verifiedUse(
  response: Parameters<Awaited<ReturnType<typeof webauthn>>["verifyAuthenticationResponse"]>[0]["response"],
  expectedChallenge: string,
  { credentialId, publicKey, transports }: FoundPasskey,
  { id: expectedRPID, origin: expectedOrigin }: RelyingParty,
): Promise<PasskeyUse | undefined> {
  const { verifyAuthenticationResponse } = await webauthn();
  const credential = {
    id: Buffer.from(credentialId).toString("base64url"),
    publicKey: new Uint8Array(publicKey),
    counter: 0, // compared with the stored one in the statement that stores the new one
    transports: transports as AuthenticatorTransport[],
  };
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      ...{ response, expectedChallenge, expectedOrigin, expectedRPID, credential },
      requireUserVerification: true,
    });
    return verified ? { counter: authenticationInfo.newCounter, backedUp: authenticationInfo.credentialBackedUp } : undefined;
  } catch {
    return undefined; // the library throws for every answer that is malformed or of another origin
  }
}

/** How authenticators know a user: the bytes of the id, which reveal nothing about the user. @see WebAuthn L3 §14.6.1 */
const userHandle = (userId: string): Buffer<ArrayBuffer> => Buffer.from(userId.replaceAll("-", ""), "hex");

async function reportCopy({ id, user }: FoundPasskey, ports: AccountPorts, caller: Caller): Promise<void> {
  const audit = auditOfUser("passkey.refused", user.id, caller, { outcome: "failure", reason: "passkey_copied" });
  await ports.passkeys.reportCopy(id, user.id, mailOf("passkeyCopied", ports, user, caller), audit);
}

/** Authenticates by passkey, with user verification: something the user has, and what unlocks it. Its counter must grow. */
export async function proveByPasskey<Result>(
  proof: PasskeyProof,
  ports: AccountPorts,
  caller: Caller,
  use: UseProof<Result>,
): Promise<ProofOutcome<Result>> {
  const { passkey, backedUp, reason } = await judge(proof, ports).catch((error: unknown): Judgement => {
    if (isRefusal(error) && error.code === "unauthenticated") return { reason: error.reason };
    throw error;
  });
  if (reason === "passkey_copied" && passkey) await reportCopy(passkey, ports, caller);
  if (reason !== undefined) return { kind: "refused", reason, user: passkey?.user };
  const amr = [backedUp ? "swk" : "hwk", "user"];
  const result = await use({ account: { user: passkey.user }, acr: PHISHING_RESISTANT_ACR, amr, passkey: passkey.id });
  // As if the passkey had been removed, or the user disabled, a moment earlier.
  return result === undefined ? { kind: "refused", reason: "passkey_unknown", user: passkey.user } : { kind: "proved", result };
}

/** The most characters of a name. */
const MAX_NAME = 60;
/** The most bytes of a credential id (WebAuthn L3 §7.1). */
const MAX_CREDENTIAL_ID = 1023;

/** What a browser needs to make a passkey that identifies its user by itself. @throws {Refusal} too_many_requests */
export async function passkeyCreationOptions(
  user: User,
  { id }: RelyingParty,
  browser: string,
  ports: AccountPorts,
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

async function verifiedPasskey({ response, browser }: PasskeyProof, userId: string, ports: AccountPorts) {
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
  if (!outcome?.verified || Buffer.from(outcome.registrationInfo.credential.id, "base64url").length > MAX_CREDENTIAL_ID)
    throw passkeyRefused("passkey_invalid");
  return outcome.registrationInfo;
}

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
  ports: AccountPorts,
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
      name: keptName(name, MAX_NAME) || nameHere(caller),
    },
    session.id,
    mailOf("passkeyAdded", ports, user, caller),
    auditOfUser("passkey.added", user.id, caller),
  );
  if (!added) throw new Refusal("conflict", "passkey_not_added", { description: "This passkey is known already, or you have too many." });
}

const unknown = () => new Refusal("not_found", "passkey_unknown", { description: "There is no such passkey." });

/** @throws {Refusal} not_found, also for another user's */
export async function renamePasskey(id: string, user: User, name: string, { passkeys }: AccountPorts, caller: Caller): Promise<void> {
  if (!(await passkeys.rename(id, user.id, keptName(name, MAX_NAME) || nameHere(caller), auditOfUser("passkey.changed", user.id, caller))))
    throw unknown();
}

/** Removes a passkey and notifies the user. @throws {Refusal} not_found; conflict for the last way to sign in */
export async function removePasskey(id: string, { user, session }: SignedIn, ports: AccountPorts, caller: Caller): Promise<void> {
  const message = mailOf("passkeyRemoved", ports, user, caller);
  const outcome = await ports.passkeys.remove(id, user.id, session.id, message, auditOfUser("passkey.removed", user.id, caller));
  if (outcome === "unknown") throw unknown();
  if (outcome === "last")
    throw new Refusal("conflict", "last_way_in", { description: "This is your only way to sign in. Add another one first." });
}
