import Bowser from "bowser";

/** What a browser calls itself, in words by which its owner knows it again; none where it does not say. */
export interface Device {
  /** Such as `Firefox`. */
  readonly browser: string | null;
  /** Such as `Linux`. */
  readonly system: string | null;
}

/** More of a User-Agent is not looked at. */
const MAX_AGENT = 512;
const MAX_WORD = 40;

/** What a program that is no browser begins with (RFC 9110 §10.1.5). */
const PRODUCT = /^[A-Za-z][\w.-]*(?=\/)/;

/** Browser and system of a User-Agent, which may say anything: the words are short and of letters, digits and the marks of a name. Pure. */
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
