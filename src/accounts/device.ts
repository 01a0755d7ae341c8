import Bowser from "bowser";

/** Browser and system of a device, such as `Firefox` and `Linux`; null if unknown. */
export type Device = { readonly browser: string | null; readonly system: string | null };

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
