/** Seconds for which a proof may be accepted: it may be made 300 seconds ahead, and is current for 300 seconds more. */
const LIFETIME = 600;
/** Proofs in each of two sets, which takes 23 MB. */
const MOST = 500_000;

/**
 * Remembers used proofs for as long as they may be accepted, but no more than the last million.
 * @returns whether a proof is used for the first time, given its digest and the seconds since the epoch
 */
export function usedProofs(): (digest: string, now: number) => boolean {
  let used = new Set<string>();
  let earlier = used;
  let begun = Number.NEGATIVE_INFINITY;
  return (digest, now) => {
    const name = digest.slice(0, 11); // 66 bits suffice, and take half the memory
    if (used.has(name) || earlier.has(name)) return false;
    if (now - begun > LIFETIME || used.size >= MOST) {
      earlier = used;
      used = new Set();
      begun = now;
    }
    used.add(name);
    return true;
  };
}
