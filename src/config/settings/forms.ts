import { isIP } from "node:net";
import { z } from "zod";

/** What the settings reference and the loader know of a setting besides its form. */
export interface SettingMeta {
  readonly group: string;
  readonly description: string;
  /** What holds when the setting is not there and no fixed default can say it. */
  readonly unset?: string;
  /** `@path` stands for the content of the file at path. Every setting that may carry a secret has this. */
  readonly file?: boolean;
}

/** Describes the settings of one group, which is a section of docs/settings.md. */
export const describedIn =
  (group: string) =>
  (description: string, more: Omit<SettingMeta, "group" | "description"> = {}): SettingMeta & Record<string, unknown> => ({
    group,
    description,
    ...more,
  });

/** Seconds. */
export const DAY = 86_400;

/** The text of a fault: what is wrong, and what to do about it. Never the value. */
export const says = (fault: string, remedy: string) => `${fault}; ${remedy}`;

export const text = (test: (value: string) => boolean, fault: string, remedy: string) => z.string().refine(test, says(fault, remedy));

export const whole = (min: number, max: number, what: string) =>
  text(
    (value) => /^\d{1,9}$/.test(value) && Number(value) >= min && Number(value) <= max,
    `is no whole number from ${min} to ${max}`,
    `give ${what} in digits`,
  ).transform(Number);

export const seconds = (min: number, max: number) => whole(min, max, "seconds");

export const flag = () => z.stringbool({ error: says("is neither true nor false", "set true or false") });

export const oneOf = <const T extends readonly [string, ...string[]]>(words: T) =>
  z.enum(words, { error: says("is a word that this setting does not know", `set ${words.join(" or ")}`) });

export const url = (schemes: readonly string[]) =>
  text(
    (value) => URL.canParse(value) && schemes.includes(new URL(value).protocol.slice(0, -1)) && new URL(value).hostname !== "",
    `is no URL of the form ${schemes.map((scheme) => `${scheme}://…`).join(" or ")}`,
    "give the whole URL",
  );

/**
 * Issuer identifiers are compared as strings, so only the one canonical spelling is taken.
 * @see RFC 8414 §2, OpenID Connect Discovery §3
 */
const isIssuer = (value: string) => {
  if (!URL.canParse(value) || value.endsWith("/") || /[?#]/.test(value)) return false;
  const { protocol, username, password, href, pathname } = new URL(value);
  return /^https?:$/.test(protocol) && username === "" && password === "" && (pathname === "/" ? `${value}/` : value) === href;
};

export const issuer = () =>
  text(
    isIssuer,
    "is no issuer identifier",
    "give an http(s) URL in lower case, without credentials, default port, trailing slash, query and fragment",
  );

const words = (value: string, separator: RegExp) => [...new Set(value.split(separator).filter((word) => word !== ""))];

/** A list without repeats, of which every word passes the test. An empty text is an empty list. */
export const listOf = (separator: RegExp, test: (word: string) => boolean, fault: string, remedy: string) =>
  text((value) => words(value, separator).every(test), fault, remedy).transform((value) => words(value, separator));

export const SPACES_OR_COMMAS = /[\s,]+/;

export const issuers = () =>
  listOf(
    SPACES_OR_COMMAS,
    isIssuer,
    "names something that is no issuer identifier",
    "give https URLs without trailing slash, separated by spaces or commas",
  );

const isHost = (value: string) => isIP(value) !== 0 || /^(?!.*\.\.)[a-z0-9]([a-z0-9._-]{0,251}[a-z0-9])?$/i.test(value);
export const host = () => text(isHost, "is no host name or IP address", "give one without scheme, port and brackets");
