import { setTimeout } from "node:timers/promises";
import { type Client, demandsEdDsa } from "../../clients/client.ts";
import { Refusal } from "../../errors.ts";
import { shared } from "../../load-once.ts";
import { type ClassicalJwk, type PublicJwk, type SigningKey, type VerificationKey, verificationKey } from "./keys.ts";
import type { MldsaKey } from "./ml-dsa.ts";

/** A published key. `age` in seconds since its publication, by the clock of the register. `withdrawn`: an operator has withdrawn it. */
export type ServedKey = { readonly jwk: PublicJwk; readonly age: number; readonly withdrawn?: boolean };

/** The published public keys of all cores, so that every front serves the union during a roll-out. */
export interface KeyRegister {
  /** Publishes new keys, marks `inUse` as signing now, and returns every key that is still served, and those that were withdrawn. */
  publish(keys: readonly PublicJwk[], inUse: readonly string[]): Promise<readonly ServedKey[]>;
}

/** The keys that sign now. */
export interface SigningKeys {
  readonly accessToken: SigningKey;
  readonly idToken: SigningKey;
  /** Also signs access tokens; undefined while hybrid signing is off. */
  readonly hybrid: MldsaKey | undefined;
}

export type Keys = Awaited<ReturnType<typeof openKeys>>;

/** Seconds for which a key is published before it signs: it has to reach every core and front, and then verifiers that cache a key set. */
const NOTICE = 300;

/** Seconds for which a core signs after it last marked its keys as in use: less than those in which they cannot be withdrawn (store/key-register.ts). */
const MARKED_FOR = 75;

/** Milliseconds for which a request waits until its key is marked again: an answer of the register takes few. */
const PATIENCE = 1_000;

/** The key that signs ID tokens and logout tokens for a client. @throws {Refusal} temporarily_unavailable */
export function idTokenKey(keys: Pick<Keys, "signing">, client: Pick<Client, "securityProfile">): SigningKey {
  const { accessToken, idToken } = keys.signing();
  return demandsEdDsa(client) ? accessToken : idToken;
}

/**
 * Seconds until a key may sign; 0 when it may now. The first of its kind does not wait: no verifier has cached an earlier one. Pure.
 * @see docs/security.md, R9
 */
export function noticeLeft(jwk: PublicJwk, served: readonly ServedKey[]): number {
  const age = served.find((key) => key.jwk.kid === jwk.kid)?.age ?? 0;
  const hasElders = served.some((key) => key.jwk.alg === jwk.alg && key.age > age);
  return hasElders ? Math.max(0, Math.ceil(NOTICE - age)) : 0;
}

export interface KeyRing {
  /** Ed25519 keys in order of preference: the first that may sign does. */
  readonly accessToken: readonly [SigningKey, ...SigningKey[]];
  /** Signs ID tokens where they are RS256. */
  readonly rsa?: SigningKey | undefined;
  /** Earlier and future public keys that are published and verify. */
  readonly published?: readonly PublicJwk[];
  /** The ML-DSA-65 key, and whether it also signs access tokens. */
  readonly mldsa?: { readonly key: MldsaKey; readonly hybrid: boolean } | undefined;
  /** Whether the preferred keys sign while none may yet. */
  readonly signsAtOnce?: boolean;
}

type Judgement = { readonly kind: "signs"; readonly keys: SigningKeys } | { readonly kind: "waits"; readonly seconds: number };

/** Decides which keys sign now: one of each configured kind, or none. Pure. */
export function judgeRing({ accessToken, rsa, mldsa, signsAtOnce = false }: KeyRing, served: readonly ServedKey[]): Judgement {
  const withdrawn = withdrawnOf(served);
  const live = served.filter((key) => key.withdrawn !== true);
  const wait = ({ jwk }: { readonly jwk: PublicJwk }): number =>
    withdrawn.has(jwk.kid) ? Number.POSITIVE_INFINITY : noticeLeft(jwk, live);
  const signer = accessToken.find((key) => wait(key) === 0);
  const hybrid = mldsa?.hybrid === true ? mldsa.key : undefined;
  const seconds = Math.max(
    signer === undefined ? Math.min(...accessToken.map(wait)) : 0,
    rsa === undefined ? 0 : wait(rsa),
    hybrid === undefined ? 0 : wait(hybrid),
  );
  const chosen = signer ?? accessToken.find((key) => Number.isFinite(wait(key)));
  if (chosen === undefined || !Number.isFinite(seconds)) return { kind: "waits", seconds: Number.POSITIVE_INFINITY };
  if (seconds > 0 && !signsAtOnce) return { kind: "waits", seconds };
  return { kind: "signs", keys: { accessToken: chosen, idToken: rsa ?? chosen, hybrid } };
}

const withdrawnOf = (served: readonly ServedKey[]): ReadonlySet<string> =>
  new Set(served.flatMap(({ jwk, withdrawn }) => (withdrawn === true ? [jwk.kid] : [])));

function kidsOf(judgement: Judgement): readonly string[] {
  if (judgement.kind === "waits") return [];
  const { accessToken, idToken, hybrid } = judgement.keys;
  return [...new Set([accessToken, idToken, ...(hybrid === undefined ? [] : [hybrid])].map(({ jwk }) => jwk.kid))];
}

/** Names the setting of a key that has to sign. @param served the keys that were not withdrawn */
function withdrawnFault({ accessToken, rsa }: KeyRing, served: ReadonlyMap<string, unknown>): Error {
  const isServed = ({ jwk }: SigningKey): boolean => served.has(jwk.kid);
  const kind = !accessToken.some(isServed) ? "" : rsa === undefined || isServed(rsa) ? "MLDSA_" : "RSA_";
  return new Error(`JWT_${kind}PRIVATE_KEY: a key that has to sign was withdrawn (\`countersign keys list\`); configure another one.`);
}

/** @param seconds until a key may sign; infinite where it was withdrawn */
function notSigning(seconds: number): Refusal {
  if (!Number.isFinite(seconds)) {
    const description = "The signing key was withdrawn: another one has to be configured.";
    return new Refusal("temporarily_unavailable", "signing_key_withdrawn", { description, retryAfter: NOTICE });
  }
  return new Refusal("temporarily_unavailable", "signing_key_not_published_long_enough", {
    description: `The signing key is new: it signs when it has been published for ${NOTICE} seconds.`,
    retryAfter: seconds,
  });
}

/**
 * Publishes the keys of this core beside those of other cores.
 * @param clock seconds; it counts on while the process stands still
 * @throws {Error} where a key that has to sign was withdrawn
 */
export async function openKeys(ring: KeyRing, register: KeyRegister, clock = () => performance.now() / 1_000) {
  const own: readonly SigningKey[] = [...ring.accessToken, ...(ring.rsa === undefined ? [] : [ring.rsa])];
  const held: readonly PublicJwk[] = [...own.map(({ jwk }) => jwk), ...(ring.mldsa === undefined ? [] : [ring.mldsa.key.jwk])];
  const configured = [...new Map([...held, ...(ring.published ?? [])].map((jwk) => [jwk.kid, jwk])).values()];
  let verifying = new Map<string, VerificationKey>();
  let document = "";
  let judgement: Judgement = { kind: "waits", seconds: NOTICE };
  let markedAt = Number.NEGATIVE_INFINITY;

  const publish = async (signing: readonly string[]): Promise<Judgement> => {
    const served = await register.publish(configured, signing);
    const withdrawn = withdrawnOf(served);
    const all = new Map(
      [...configured, ...served.map(({ jwk }) => jwk)].flatMap((jwk) => (withdrawn.has(jwk.kid) ? [] : [[jwk.kid, jwk] as const])),
    );
    const classical = [...all.values()].filter((jwk): jwk is ClassicalJwk => jwk.kty !== "AKP");
    verifying = new Map(classical.map((jwk) => [jwk.kid, verifying.get(jwk.kid) ?? verificationKey(jwk)]));
    document = JSON.stringify({ keys: [...all.values()] });
    return judgeRing(ring, served);
  };

  const refresh = shared(async (): Promise<void> => {
    let marked = kidsOf(judgement);
    let began = clock();
    let next = await publish(marked);
    // A key is marked as in use before it signs, and may have been withdrawn before it was marked.
    while (kidsOf(next).join(" ") !== marked.join(" ")) {
      marked = kidsOf(next);
      began = clock();
      next = await publish(marked);
    }
    [judgement, markedAt] = [next, began];
  });
  const isMarked = (): boolean => clock() - markedAt <= MARKED_FOR;
  await refresh();
  if (judgement.kind === "waits" && !Number.isFinite(judgement.seconds)) throw withdrawnFault(ring, verifying);

  return {
    /** Waits a while for the register where the keys may have been withdrawn since they were marked, as after the process stood still. */
    async settled(): Promise<void> {
      if (judgement.kind === "waits" || isMarked()) return;
      await Promise.race([refresh(), setTimeout(PATIENCE, undefined, { ref: false })]).catch(() => undefined); // reported by the regular ones
    },
    /** Called before anything is consumed. @throws {Refusal} temporarily_unavailable while no key has been published for long enough */
    signing(): SigningKeys {
      if (judgement.kind === "signs") {
        if (isMarked()) return judgement.keys;
        refresh().catch(() => undefined); // reported by the regular ones
        throw new Refusal("temporarily_unavailable", "signing_key_perhaps_withdrawn", { retryAfter: 1 });
      }
      throw notSigning(judgement.seconds);
    },
    /** The same without a refusal: undefined while no key may sign. */
    current: (): SigningKeys | undefined => (judgement.kind === "signs" && isMarked() ? judgement.keys : undefined),
    /** Every key whose private half this core has, whether it may sign or not. */
    own,
    /** The second key of access tokens, whether it may sign yet or not; undefined while hybrid signing is off. */
    hybrid: ring.mldsa?.hybrid === true ? ring.mldsa.key : undefined,
    /** A published key of this core or another, current or retired. */
    byId: (kid: string): VerificationKey | undefined => verifying.get(kid),
    /** Reads the register, determines which keys may sign, and marks those as in use. */
    refresh,
    jwksJson: (): string => document,
  };
}
