/** bcrypt with a cost from 4 to 14, as other servers store it. */
const BCRYPT = /^\$2[aby]\$(?:0[4-9]|1[0-4])\$[./A-Za-z0-9]{53}$/;
/** Libraries write the parameters in either order. */
const ARGON2 =
  /^\$argon2(?:id|i|d)\$v=19\$m=(?<memory>\d{1,6}),(?:t=(?<t>\d{1,2}),p=(?<p>\d)|p=(?<lanes>\d),t=(?<passes>\d{1,2}))\$[A-Za-z0-9+/]{11,86}\$[A-Za-z0-9+/]{22,86}$/;

/** The most that a hash may cost at each sign-in: 128 MiB and ten passes. */
const MAX_MEMORY = 128 * 1024;
const MAX_PASSES = 10;

export const isBcrypt = (encoded: string): boolean => BCRYPT.test(encoded);

/** Whether a hash of another server can be taken over: bcrypt, or argon2 of version 19 with bearable costs. Pure. */
export function isImportable(encoded: string): boolean {
  if (isBcrypt(encoded)) return true;
  const found = ARGON2.exec(encoded)?.groups;
  if (found === undefined) return false;
  const [memory, passes, lanes] = [found.memory, found.t ?? found.passes, found.p ?? found.lanes].map(Number) as [number, number, number];
  return lanes >= 1 && memory >= 8 * lanes && memory <= MAX_MEMORY && passes >= 1 && passes <= MAX_PASSES;
}

/** Whether a hash is replaced at the next sign-in, whatever its costs: it is not argon2id. Pure. */
export const isForeign = (encoded: string): boolean => !encoded.startsWith("$argon2id$");
