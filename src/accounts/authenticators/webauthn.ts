import { isIP } from "node:net";
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from "@simplewebauthn/server";
import { z } from "zod";
import { Refusal } from "../../errors.ts";
import { loadOnce } from "../../load-once.ts";
import { hashSecret, type SecretHash } from "../../random.ts";
import type { AccountPorts } from "../account-ports.ts";
import { assertWithin } from "../caller.ts";
import type { ChallengeKind, RelyingParty } from "../factors.ts";

/** Loaded with the first passkey: it costs a start what few of them need. */
export const webauthn = loadOnce(() => import("@simplewebauthn/server"));

/** @param issuer base URL @returns undefined for a server at an IP address, where browsers make no passkeys */
export function relyingParty(issuer: string): RelyingParty | undefined {
  const { hostname, origin } = new URL(issuer);
  return isIP(hostname) !== 0 || hostname.startsWith("[") ? undefined : { id: hostname, origin };
}

/** Seconds for which a challenge can be answered. */
export const CHALLENGE_TTL = 300;
/** Challenges that wait for one user or address at a time: every sign-in page that is opened begins one, as for the requests that wait. */
const WAITING = 1000;

/** @param browser a secret of the browser that the challenge is for */
const challengeHash = (challenge: string, browser: string): SecretHash => hashSecret(`${challenge} ${browser}`);

/** Stores a challenge for this browser. @returns its bytes  @throws {Refusal} too_many_requests */
export async function beginChallenge(
  kind: ChallengeKind,
  { userId, holder, browser }: { readonly userId: string | null; readonly holder: string; readonly browser: string },
  { challenges, challengeRate, randomBytes }: AccountPorts,
): Promise<Uint8Array<ArrayBuffer>> {
  await assertWithin(challengeRate, holder);
  const challenge = new Uint8Array(randomBytes(32));
  const idHash = challengeHash(Buffer.from(challenge).toString("base64url"), browser);
  await challenges.put(idHash, kind, { userId, generation: null, upstream: null }, CHALLENGE_TTL, { holder, limit: WAITING });
  return challenge;
}

const base64url = z
  .string()
  .max(8192)
  .regex(/^[A-Za-z0-9_-]*$/);
const common = { id: base64url, rawId: base64url, type: z.literal("public-key"), clientExtensionResults: z.looseObject({}) };

/** The members of a browser's answers that are read; others are dropped. @see WebAuthn L3 §5.1 (toJSON) */
export const AuthenticationAnswer = z.object({
  ...common,
  response: z.object({
    clientDataJSON: base64url,
    authenticatorData: base64url,
    signature: base64url,
    userHandle: base64url.exactOptional(),
  }),
}) satisfies z.ZodType<AuthenticationResponseJSON>;

export const RegistrationAnswer = z.object({
  ...common,
  response: z.object({
    clientDataJSON: base64url,
    attestationObject: base64url,
    transports: z
      .array(z.enum(["ble", "cable", "hybrid", "internal", "nfc", "smart-card", "usb"]))
      .max(20)
      .exactOptional(),
  }),
}) satisfies z.ZodType<RegistrationResponseJSON>;

const ClientData = z.looseObject({ challenge: base64url });

export const passkeyRefused = (reason: string): Refusal =>
  new Refusal("unauthenticated", reason, { description: "The passkey was not accepted." });

/** A browser's answer. @throws {Refusal} unauthenticated */
export function readAnswer<Answer extends z.ZodType>(shape: Answer, text: string): z.output<Answer> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw passkeyRefused("passkey_malformed");
  }
  const read = shape.safeParse(value);
  if (!read.success) throw passkeyRefused("passkey_malformed");
  return read.data;
}

/**
 * Uses up the challenge that an answer names, whether or not the answer is valid. Pages of this server are in no frame of another origin.
 * @returns the challenge, and the user that it was for  @throws {Refusal} unauthenticated for one that is unknown, used or expired, and
 *   for an answer from within such a frame (WebAuthn L3 §7.1, §7.2), which the library lets pass
 */
export async function takeChallenge(
  kind: ChallengeKind,
  clientDataJSON: string,
  browser: string,
  { challenges }: Pick<AccountPorts, "challenges">,
): Promise<{ readonly challenge: string; readonly userId: string | null }> {
  const clientData = readAnswer(ClientData, Buffer.from(clientDataJSON, "base64url").toString());
  const { challenge, crossOrigin = false, topOrigin } = clientData;
  const taken = await challenges.take(challengeHash(challenge, browser), kind);
  if (taken === undefined) throw passkeyRefused("passkey_challenge");
  if (crossOrigin !== false || topOrigin !== undefined) throw passkeyRefused("passkey_invalid");
  return { challenge, userId: taken.userId };
}
