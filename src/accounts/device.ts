import Bowser from "bowser";

/** Browser and system of a device, in words that its user recognizes; null if unknown. */
export interface Device {
  /** Such as `Firefox`. */
  readonly browser: string | null;
  /** Such as `Linux`. */
  readonly system: string | null;
}

/** The rest of a longer User-Agent is ignored. */
const MAX_AGENT = 512;
const MAX_WORD = 40;

/** The product of a program that is not a browser (RFC 9110 §10.1.5). */
const PRODUCT = /^[A-Za-z][\w.-]*(?=\/)/;

/** Browser and system of a User-Agent, which may contain anything. The words are short, without markup or control characters. Pure. */
export function deviceOf(userAgent: string): Device {
  if (userAgent === "") return { browser: null, system: null };
  const agent = userAgent.slice(0, MAX_AGENT);
  const { browser, os } = Bowser.parse(agent);
  return { browser: word(browser.name) ?? word(PRODUCT.exec(agent)?.[0]), system: word(os.name) };
}

function word(name: string | undefined): string | null {
  const plain = (name ?? "")
    .replace(/[^\p{L}\p{N} ._+-]/gu, "")
    .trim()
    .slice(0, MAX_WORD);
  return plain === "" ? null : plain;
}
