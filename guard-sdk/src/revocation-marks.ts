/** A revocation event of the authorization server: something that ended, by the digest of its name. */
export interface Mark {
  readonly digest: Uint8Array;
  /** Of two events with the same digest, the one with the greater sequence applies. */
  readonly sequence: bigint;
  readonly lifted: boolean;
  /** Seconds since the epoch, by the clock of the server. */
  readonly revokedAt: number;
  /** Seconds since the epoch. No affected token lives longer. */
  readonly expiresAt: number;
}

/** What is kept of an event. */
interface KnownMark extends Pick<Mark, "sequence" | "lifted"> {
  /** By the clock that never steps back: a clock that is ahead for a moment must not end a revocation. */
  readonly until: number;
}

/** One message of the stream. */
export interface WatchMessage {
  readonly marks: readonly Mark[];
  /** Empty until the initial set of events is complete. */
  readonly cursor: string;
  /** The following events replace all earlier ones. */
  readonly reset: boolean;
}

/** The most events that a guard keeps. Above it, the guard drops all of them and treats the watch as stale. */
const MOST_MARKS = 1_000_000;

/** Seconds for which an event is kept longer, for a clock that is behind; and between two looks for events to drop. */
const GRACE = 60;
const PRUNE_EVERY = 60;

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
const hexOf = (bytes: Uint8Array) => Array.from(bytes, (byte) => HEX[byte]).join("");

/** Events that are still in effect, by digest. A new initial set replaces them once it is complete. */
export function knownRevocations() {
  let known = new Map<string, KnownMark>();
  let coming: Map<string, KnownMark> | undefined;
  let pruned = 0;

  return {
    /** Called when a stream begins: what an earlier one did not complete is discarded. */
    begin(): void {
      coming = undefined;
    },
    /** @param elapsed seconds of a clock that never steps back */
    take({ marks, cursor, reset }: WatchMessage, elapsed: number): void {
      if (reset) coming = new Map();
      const into = coming ?? known;
      for (const { digest: bytes, sequence, lifted, revokedAt, expiresAt } of marks) {
        const digest = hexOf(bytes);
        const before = into.get(digest);
        const until = elapsed + expiresAt - revokedAt + GRACE;
        if (before === undefined || before.sequence < sequence) into.set(digest, { sequence, lifted, until });
      }
      if (into.size > MOST_MARKS) throw new RangeError("more marks than a guard can keep");
      if (cursor === "") return;
      known = into;
      coming = undefined;
      if (elapsed - pruned < PRUNE_EVERY) return;
      pruned = elapsed;
      for (const [digest, { until }] of known) if (until <= elapsed) known.delete(digest);
    },
    /** Whether an event with one of these digests is in effect. */
    anyEnded: (digests: readonly string[]) => digests.some((digest) => known.get(digest)?.lifted === false),
  };
}

/** The claims of a token that name it in revocation events. */
interface Named {
  readonly jti: string;
  readonly client_id: string;
}

/** The most ancestor tokens of a token; Countersign stops at four. */
const MAX_ANCESTORS = 10;
/** The part before the dot in the `jti` of a token that an agent got by exchange. */
const DELEGATED = "d";
/** The characters at the beginning of a `jti` that name the user's grant, or the record of a client whose own token it is. */
const GRANT = 22;

/**
 * The digests of everything whose end revokes a token: its own, and those of its ancestor tokens. Undefined for a token that does not name
 * itself or its ancestors, and therefore must be introspected.
 * @see RevocationEvent in the proto countersign.introspection.v1
 */
export async function endsOf(claims: Readonly<Record<string, unknown>>): Promise<readonly string[] | undefined> {
  const line = lineOf(claims);
  if (line === undefined) return undefined;
  const user = line[0]?.jti.includes(".") ? [`user:${claims.sub}`] : [];
  return Promise.all([...line.flatMap((one) => endsOfOne(one, claims.sub)), ...user].map(digestOf));
}

/** The token and its ancestor tokens; undefined if it does not name them. */
function lineOf(claims: Readonly<Record<string, unknown>>): readonly Named[] | undefined {
  if (!isNamed(claims)) return undefined;
  const [kind, personal] = claims.jti.split(".");
  if (personal === undefined) return claims.act === undefined ? [claims] : undefined; // an actor acts for a user
  if (kind !== DELEGATED) return [claims];
  const { exchanged_from: above } = claims;
  const areNamed = Array.isArray(above) && above.length > 0 && above.length <= MAX_ANCESTORS && above.every(isNamed);
  return areNamed ? [claims, ...above] : undefined;
}

function endsOfOne({ jti, client_id }: Named, sub: unknown): readonly string[] {
  const [kind, personal] = jti.split(".");
  const own = [`jti:${jti}`, `client:${client_id}`];
  if (personal !== undefined) own.push(`agent:${client_id}`, `agent:${client_id}\n${sub}`);
  return kind === DELEGATED && personal !== undefined ? own : [...own, `grant:${jti.slice(0, GRANT)}`];
}

function isNamed<Value>(value: Value): value is Value & Named {
  const { jti, client_id } = (value ?? {}) as { readonly jti?: unknown; readonly client_id?: unknown };
  return typeof jti === "string" && typeof client_id === "string";
}

async function digestOf(text: string): Promise<string> {
  return hexOf(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)), 0, 16));
}
