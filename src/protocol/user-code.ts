/** 20 consonants: no vowels, so that no code is a word, and none that is read as a digit. @see RFC 8628 §6.1 */
const LETTERS = "BCDFGHJKLMNPQRSTVWXZ";
const LENGTH = 8;
/** Bytes from here on would make the first letters more likely. */
const FAIR = 256 - (256 % LETTERS.length);

const CODE = new RegExp(`^[${LETTERS}]{${LENGTH}}$`);

/** A code of 34.6 random bits for a user to type, without a dash. */
export function newUserCode(randomBytes: (length: number) => Uint8Array): string {
  let code = "";
  while (code.length < LENGTH) {
    for (const byte of randomBytes(LENGTH)) {
      if (byte < FAIR && code.length < LENGTH) code += LETTERS[byte % LETTERS.length];
    }
  }
  return code;
}

/** The code as it is shown: `XXXX-XXXX`. */
export const printUserCode = (code: string): string => `${code.slice(0, LENGTH / 2)}-${code.slice(LENGTH / 2)}`;

/** The code that a user wrote; case, dashes and blanks make no difference. @returns undefined for what cannot be a code */
export function parseUserCode(text: string): string | undefined {
  const code = text.replaceAll(/[\s\p{Pd}_.]/gu, "").toUpperCase();
  return CODE.test(code) ? code : undefined;
}
