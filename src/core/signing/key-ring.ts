import { Refusal } from "../../errors.ts";
import { type ClassicalJwk, type PublicJwk, type SigningKey, type VerificationKey, verificationKey } from "./keys.ts";
import type { MldsaKey } from "./ml-dsa.ts";

/** A published key. `age` in seconds since its publication, by the clock of the register. */
export interface ServedKey {
  readonly jwk: PublicJwk;
  readonly age: number;
}

/** The rows of published public keys, shared by all cores, so that every front serves the union during a roll-out. */
export interface KeyRegister {
  /** Publishes keys that are not yet there, marks `inUse` as signing at this moment, and answers every key that is still to be served. */
  publish(keys: readonly PublicJwk[], inUse: readonly string[]): Promise<readonly ServedKey[]>;
}

/** What signs at this moment. */
export interface SigningKeys {
  readonly accessToken: SigningKey;
  readonly idToken: SigningKey;
  /** Signs access tokens besides; undefined while hybrid signing is off. */
  readonly hybrid: MldsaKey | undefined;
}

/** The keys of a running core. */
export interface Keys {
  /**
   * What to sign with. To be asked before anything is consumed for the sake of a signature.
   * @throws {Refusal} temporarily_unavailable while no key has been published for long enough
   */
  signing(): SigningKeys;
  /** The same where nothing need be signed: undefined while nothing may be. */
  current(): SigningKeys | undefined;
  /** Every key that this core holds the private half of, whether it signs at this moment or not. */
  readonly own: readonly SigningKey[];
  /** The second key of access tokens, whether it signs at this moment or not; undefined while hybrid signing is off. */
  readonly hybrid: MldsaKey | undefined;
  /** The published key of that id, own, retired or of a sibling core. */
  byId(kid: string): VerificationKey | undefined;
  /** Reads the register again, marks the keys that sign as in use, and determines again which may. */
  refresh(): Promise<void>;
  /** The JWK Set document as it is served. */
  jwksJson(): string;
}

/** Seconds for which a key is published before it signs: as long as a verifier may use a key set that it fetched before. */
const NOTICE = 300;

/**
 * Seconds until a key may sign; 0: it may now. The first of its kind need not wait, because no verifier has an earlier key of that kind. Pure.
 * @see rule R9
 */
export function noticeLeft(jwk: PublicJwk, served: readonly ServedKey[]): number {
  const age = served.find((key) => key.jwk.kid === jwk.kid)?.age ?? 0;
  const hasElders = served.some((key) => key.jwk.alg === jwk.alg && key.age > age);
  return hasElders ? Math.max(0, Math.ceil(NOTICE - age)) : 0;
}

export interface KeyRing {
  /** Ed25519 keys, the preferred one first: the first that may sign does. */
  readonly accessToken: readonly [SigningKey, ...SigningKey[]];
  /** Signs ID tokens in place of those, where they are RS256. */
  readonly rsa?: SigningKey | undefined;
  /** Public keys without their private halves, earlier and coming ones, that are published and verify. */
  readonly published?: readonly PublicJwk[];
  /** The ML-DSA-65 key, where there is one, and whether access tokens are signed with it too. */
  readonly mldsa?: { readonly key: MldsaKey; readonly hybrid: boolean } | undefined;
  /** Whether, where none of the keys may sign yet, the preferred ones do all the same. */
  readonly signsAtOnce?: boolean;
}

type Judgement = { readonly kind: "signs"; readonly keys: SigningKeys } | { readonly kind: "waits"; readonly seconds: number };

/** Which keys sign now: all kinds that are wanted, or none. Pure. */
export function judgeRing({ accessToken, rsa, mldsa, signsAtOnce = false }: KeyRing, served: readonly ServedKey[]): Judgement {
  const wait = ({ jwk }: { readonly jwk: PublicJwk }): number => noticeLeft(jwk, served);
  const signer = accessToken.find((key) => wait(key) === 0);
  const hybrid = mldsa?.hybrid === true ? mldsa.key : undefined;
  const seconds = Math.max(
    signer === undefined ? Math.min(...accessToken.map(wait)) : 0,
    rsa === undefined ? 0 : wait(rsa),
    hybrid === undefined ? 0 : wait(hybrid),
  );
  if ((signer === undefined || seconds > 0) && !signsAtOnce) return { kind: "waits", seconds };
  const chosen = signer ?? accessToken[0];
  return { kind: "signs", keys: { accessToken: chosen, idToken: rsa ?? chosen, hybrid } };
}

/** Of the keys that sign. */
function kidsOf(judgement: Judgement): readonly string[] {
  if (judgement.kind === "waits") return [];
  const { accessToken, idToken, hybrid } = judgement.keys;
  return [...new Set([accessToken, idToken, ...(hybrid === undefined ? [] : [hybrid])].map(({ jwk }) => jwk.kid))];
}

/** The keys of this core, published together with those of its siblings and predecessors. */
export async function openKeys(ring: KeyRing, register: KeyRegister): Promise<Keys> {
  const own = [...ring.accessToken, ...(ring.rsa === undefined ? [] : [ring.rsa])];
  const held: readonly PublicJwk[] = [...own.map(({ jwk }) => jwk), ...(ring.mldsa === undefined ? [] : [ring.mldsa.key.jwk])];
  const configured = [...new Map([...held, ...(ring.published ?? [])].map((jwk) => [jwk.kid, jwk])).values()];
  let verifying = new Map<string, VerificationKey>();
  let document = "";
  let judgement: Judgement = { kind: "waits", seconds: NOTICE };

  /** @returns what signs from now on, as the register has it */
  const publish = async (signing: readonly string[]): Promise<Judgement> => {
    const served = await register.publish(configured, signing);
    const all = new Map([...configured, ...served.map(({ jwk }) => jwk)].map((jwk) => [jwk.kid, jwk]));
    const classical = [...all.values()].filter((jwk): jwk is ClassicalJwk => jwk.kty !== "AKP");
    verifying = new Map(classical.map((jwk) => [jwk.kid, verifying.get(jwk.kid) ?? verificationKey(jwk)]));
    document = JSON.stringify({ keys: [...all.values()] });
    return judgeRing(ring, served);
  };

  const refresh = async (): Promise<void> => {
    const before = kidsOf(judgement);
    const next = await publish(before);
    // What begins to sign is marked before it does.
    if (kidsOf(next).join(" ") !== before.join(" ")) await publish(kidsOf(next));
    judgement = next;
  };
  await refresh();

  return {
    signing() {
      if (judgement.kind === "signs") return judgement.keys;
      throw new Refusal("temporarily_unavailable", "signing_key_not_published_long_enough", {
        description: `The signing key is new: it signs when it has been published for ${NOTICE} seconds.`,
        retryAfter: judgement.seconds,
      });
    },
    current: () => (judgement.kind === "signs" ? judgement.keys : undefined),
    own,
    hybrid: ring.mldsa?.hybrid === true ? ring.mldsa.key : undefined,
    byId: (kid) => verifying.get(kid),
    refresh,
    jwksJson: () => document,
  };
}
