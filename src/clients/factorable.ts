/** Odd primes up to 167: the moduli of the faulty generator are powers of 65537 modulo each of them, whatever the key's size. */
const PRIMES = [
  3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109, 113, 127, 131, 137, 139,
  149, 151, 157, 163, 167,
];

/** The residues that powers of 65537 have modulo a prime. */
function powersModulo(prime: number): ReadonlySet<number> {
  const powers = new Set<number>();
  for (let power = 1; !powers.has(power); power = (power * 65_537) % prime) powers.add(power);
  return powers;
}

const FINGERPRINT = PRIMES.map((prime) => [BigInt(prime), powersModulo(prime)] as const);

/**
 * Whether an RSA modulus comes from the chips whose keys can be factored from the public half alone (CVE-2017-15361). Of other moduli about
 * one in two hundred million looks so by chance.
 * @param modulus big-endian
 */
export function isFactorable(modulus: Uint8Array): boolean {
  const n = BigInt(`0x${Buffer.from(modulus).toString("hex") || "0"}`);
  return FINGERPRINT.every(([prime, powers]) => powers.has(Number(n % prime)));
}
