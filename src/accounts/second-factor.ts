import { isRefusal, memberRefusal, Refusal } from "../errors.ts";
import { loadOnce } from "../load-once.ts";
import { TWO_FACTOR_ACR } from "../protocol/authentication-context.ts";
import { hashSecret, type RandomBytes, type SecretHash } from "../random.ts";
import type { AccountPorts } from "./account-ports.ts";
import { auditOfUser, type Caller } from "./caller.ts";
import { mailOf } from "./mails.ts";
import type { FactorUse, SignedIn, User } from "./ports.ts";

const otp = loadOnce(() => import("otplib"));

/** Seconds of a time step (RFC 6238 §5.2). A code counts in its step and in those beside it. */
const STEP = 30;

const CODE = /^\d{6}$/;

/** The time step of a code, with SHA-1 and six digits. @param secret base32  @param now seconds since the epoch */
export async function stepOf(secret: string, code: string, now: number): Promise<number | undefined> {
  if (!CODE.test(code)) return undefined; // the library throws for it
  const { verifySync } = await otp();
  const found = verifySync({ secret, token: code, epoch: now, epochTolerance: STEP, period: STEP, algorithm: "sha1", digits: 6 });
  return found.valid ? Math.floor(now / STEP) + found.delta : undefined;
}

const RECOVERY_CODES = 10;
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** 80 random bits in base32, in groups of four. */
function newRecoveryCode(randomBytes: RandomBytes): string {
  const letters = Array.from(randomBytes(16), (byte) => ALPHABET[byte % ALPHABET.length]).join("");
  return (letters.match(/.{4}/g) ?? []).join("-");
}

const newRecoveryCodes = (randomBytes: RandomBytes): readonly string[] =>
  Array.from({ length: RECOVERY_CODES }, () => newRecoveryCode(randomBytes));

const plainCode = (code: string): string => code.replace(/[\s-]/g, "").toUpperCase();

/** Case, dashes and spaces make no difference. */
export const recoveryHash = (userId: string, code: string): SecretHash => hashSecret(`recovery ${userId} ${plainCode(code)}`);

/** The place of an app's secret in the secret box. */
export const appSecretPlace = (userId: string): string => `authenticator app of ${userId}`;

/** The form field for a code of an app, or a recovery code. */
export const CODE_FIELD = "code";

/** The reason of a refusal: the code is wrong, or was used. */
export const SECOND_FACTOR_WRONG = "second_factor_wrong";

export function wrongCode(): Refusal {
  const message = "That code is not right. Wait for the next one, or use a recovery code.";
  return memberRefusal("unauthenticated", SECOND_FACTOR_WRONG, CODE_FIELD, message);
}

/** The reason of a refusal: what waited for the code has been completed by another request, or has ended. */
export const SIGN_IN_OVER = "sign_in_over";

export const signInOver = (): Refusal =>
  new Refusal("unauthenticated", SIGN_IN_OVER, { description: "This sign-in has ended. Sign in again." });

/** The reason of a refusal: the user's realm demands a stronger sign-in. */
export const SIGN_IN_TOO_WEAK = "sign_in_too_weak";

/** @param required the class that the user's realm demands */
export const signInTooWeak = (required: string): Refusal =>
  new Refusal("forbidden", SIGN_IN_TOO_WEAK, {
    description: `A stronger sign-in is required (${required}). Sign in through a browser, which helps to set it up.`,
  });

/** The app is not confirmed, so there are no recovery codes yet. */
const wrongFirstCode = () =>
  new Refusal("unauthenticated", "first_code_wrong", { issues: [{ path: CODE_FIELD, message: "That code is not right." }] });

/** Begins to set up an app. @throws {Refusal} conflict when the user has one */
export async function beginApp({ user: { id }, session }: SignedIn, { secondFactors, box }: AccountPorts): Promise<void> {
  const { generateSecret } = await otp();
  if (!(await secondFactors.begin(session, box.seal(generateSecret(), appSecretPlace(id)))))
    throw new Refusal("conflict", "second_factor_exists", { description: "You have an authenticator app already." });
}

/** The app that was begun in this session, if it waits for its first code: another session, also one that has ended, knows its own. */
async function waitingOf({ user, session }: SignedIn, { secondFactors }: AccountPorts) {
  const app = await secondFactors.appOf(user.id);
  return app?.confirmed === false && app.sessionId === session.id ? app : undefined;
}

/** The app that waits for its first code: its secret in base32, and as the link that apps read. */
export async function waitingApp(signedIn: SignedIn, ports: AccountPorts) {
  const { id, email } = signedIn.user;
  const { box, issuer } = ports;
  const app = await waitingOf(signedIn, ports);
  if (app === undefined) return undefined;
  const secret = box.open(app.secret, appSecretPlace(id));
  const { generateURI } = await otp();
  return { secret, uri: generateURI({ issuer: new URL(issuer).host, label: email, secret }) };
}

/** @returns ten recovery codes, shown once  @throws {Refusal} unauthenticated for a wrong code */
export async function confirmApp(signedIn: SignedIn, code: string, ports: AccountPorts, caller: Caller): Promise<readonly string[]> {
  const { user, session } = signedIn;
  const { secondFactors, box, randomBytes } = ports;
  const app = await waitingOf(signedIn, ports);
  const step = app && (await stepOf(box.open(app.secret, appSecretPlace(user.id)), plainCode(code), app.now));
  if (app === undefined || step === undefined) throw wrongFirstCode();
  const proved = { secret: app.secret, step };
  const codes = newRecoveryCodes(randomBytes);
  const hashes = codes.map((each) => recoveryHash(user.id, each));
  const audit = auditOfUser("second_factor.added", user.id, caller);
  const mail = mailOf("secondFactorAdded", ports, user, caller);
  if (!(await secondFactors.confirm(session, proved, hashes, mail, audit))) throw wrongFirstCode();
  return codes;
}

/** Replaces the recovery codes. @returns the new ones, shown once  @throws {Refusal} not_found without an app */
export async function renewRecoveryCodes({ user, session }: SignedIn, ports: AccountPorts, caller: Caller): Promise<readonly string[]> {
  const codes = newRecoveryCodes(ports.randomBytes);
  const hashes = codes.map((code) => recoveryHash(user.id, code));
  if (!(await ports.secondFactors.replaceCodes(session, hashes, auditOfUser("recovery_codes.replaced", user.id, caller)))) throw noApp();
  return codes;
}

/** @throws {Refusal} not_found without an app */
export async function removeApp({ user, session }: SignedIn, ports: AccountPorts, caller: Caller): Promise<void> {
  const audit = auditOfUser("second_factor.removed", user.id, caller, { reason: "by_owner" });
  const message = mailOf("secondFactorRemoved", ports, user, caller);
  if (!(await ports.secondFactors.remove(user.id, session.id, message, audit))) throw noApp();
}

const noApp = () => new Refusal("not_found", "second_factor_unknown", { description: "There is no authenticator app." });

/** What a code uses up if it is right. @returns undefined for a code that is no recovery code, and not the app's */
async function useOf(user: User, code: string, ports: AccountPorts, caller: Caller): Promise<FactorUse | undefined> {
  const { secondFactors, box } = ports;
  const userId = user.id;
  const plain = plainCode(code);
  if (!CODE.test(plain)) {
    const message = mailOf("recoveryCodeUsed", ports, user, caller);
    return { kind: "recovery", code: recoveryHash(userId, plain), message, audit: auditOfUser("recovery_code.used", userId, caller) };
  }
  const app = await secondFactors.appOf(userId);
  const step = app?.confirmed ? await stepOf(box.open(app.secret, appSecretPlace(userId)), plain, app.now) : undefined;
  return step === undefined ? undefined : { kind: "otp", step };
}

/** Both factors: what a session says of them, and what the code uses up. */
export interface TwoFactorProof {
  readonly acr: string;
  readonly amr: readonly string[];
  readonly factor: FactorUse;
}

/**
 * Enters by a code of the app, or a recovery code. Only who has passed the first factor can fail here, so failures count for the account
 * alone, wherever they come from.
 * @param first the methods of the first factor
 * @param waits whether the code is still waited for; a wrong one that is not does not count
 * @param start starts or raises the session, as Sessions.start does
 * @throws {Refusal} unauthenticated, too_many_requests
 */
export async function enterBySecondFactor<Started>(
  user: User,
  code: string,
  first: readonly string[],
  { waits, start }: { waits(): Promise<boolean>; start(proof: TwoFactorProof): Promise<Started | undefined> },
  ports: AccountPorts,
  caller: Caller,
): Promise<Started> {
  const budget = `second factor of ${user.id}`;
  const enter = async (factor: FactorUse): Promise<Started | undefined> => {
    const started = await start({ ...withSecondFactor(first, factor.kind), factor }).catch((error: unknown) => {
      if (isRefusal(error) && error.reason === SECOND_FACTOR_WRONG) return "wrong" as const;
      throw error;
    });
    if (started === undefined) throw signInOver();
    return started === "wrong" ? undefined : started;
  };
  const { started } = await ports.attempts.run(budget, { limitKey: budget }, async () => {
    const factor = await useOf(user, code, ports, caller);
    const started = factor && (await enter(factor));
    if (started === undefined && !(await waits())) throw signInOver();
    return { started, verdict: started === undefined ? "wrong" : "right" } as const;
  });
  if (started === undefined) throw wrongCode();
  return started;
}

/** What the first factor's methods and a code prove together. Pure. */
export const withSecondFactor = (first: readonly string[], used: FactorUse["kind"]) => ({
  acr: TWO_FACTOR_ACR,
  amr: [...new Set([...first, ...(used === "otp" ? ["otp"] : []), "mfa"])],
});
