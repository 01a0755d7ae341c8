import { isIP } from "node:net";
import { z } from "zod";

/** What the settings reference and the loader need besides the form of a value. */
export interface SettingMeta {
  readonly group: string;
  readonly description: string;
  /** The effect of leaving the setting out, where it has no fixed default. */
  readonly unset?: string;
  /** Accepts `@path` for the content of a file. True for every setting that may hold a secret. */
  readonly file?: boolean;
  /** The setting without which this one has no effect, which a start then logs. */
  readonly needs?: string;
}

/** Describes settings of one group. A group is a section of docs/settings.md. @param all what each of them needs */
export const settingsOf =
  (group: string, all: Pick<SettingMeta, "needs"> = {}) =>
  <Schema extends z.ZodType>(schema: Schema, description: string, more: Omit<SettingMeta, "group" | "description"> = {}): Schema =>
    schema.meta({ group, description, ...more, ...all });

/** Seconds. */
export const DAY = 86_400;

/** The text of a fault: what is wrong and how to fix it. Never the value, which may be secret. */
export const says = (fault: string, remedy: string) => `${fault}; ${remedy}`;

export const text = (test: (value: string) => boolean, fault: string, remedy: string) => z.string().refine(test, says(fault, remedy));

export const whole = (min: number, max: number, what: string) =>
  text(
    (value) => /^\d{1,9}$/.test(value) && Number(value) >= min && Number(value) <= max,
    `is not a whole number from ${min} to ${max}`,
    `give ${what} in digits`,
  ).transform(Number);

/** Whether a header can carry a text as it is. */
export const isHeaderText = (value: string) => /^[\x20-\x7e]+$/.test(value);

export const NOT_IN_HEADER = [
  "is not one line of printable ASCII, which a header can carry",
  "make one with `openssl rand -hex 32`",
] as const;

export const seconds = (min: number, max: number) => whole(min, max, "seconds");

export const flag = () => z.stringbool({ error: says("is neither true nor false", "set true or false") });

export const oneOf = <const T extends readonly [string, ...string[]]>(words: T) =>
  z.enum(words, { error: says("is not one of the accepted words", `set ${words.join(" or ")}`) });

/** Of a scheme with `//`, and a host; PostgreSQL takes that, or the folder of its socket, as a parameter too. */
const isUrl = (url: URL | null, schemes: readonly string[]): boolean =>
  url !== null &&
  schemes.includes(url.protocol.slice(0, -1)) &&
  (url.hostname !== "" || (url.href.startsWith("postgres") && url.searchParams.has("host")));

export const url = (schemes: readonly string[]) =>
  text(
    (value) => isUrl(URL.parse(value), schemes),
    `is not a URL of the form ${schemes.map((scheme) => `${scheme}://…`).join(" or ")}`,
    "give the whole URL",
  );

/** A URL without user name and password. @param remedy where credentials are given instead */
export const urlWithoutCredentials = (schemes: readonly string[], remedy: string) =>
  url(schemes).refine((value) => !URL.parse(value)?.username && !URL.parse(value)?.password, says("has a user name or password", remedy));

/** Issuer identifiers are compared as strings, so only the canonical spelling is accepted. @see RFC 8414 §2, OpenID Connect Discovery §3 */
const isIssuer = (value: string) => {
  if (!URL.canParse(value) || /[?#]/.test(value)) return false;
  const { protocol, username, password, href } = new URL(value);
  return /^https?:$/.test(protocol) && username === "" && password === "" && [value, `${value}/`].includes(href);
};

/** This server's own issuer, to which paths are appended. */
export const issuer = () =>
  text(
    (value) => isIssuer(value) && !value.endsWith("/"),
    "is not an issuer identifier",
    "give an http(s) URL in lower case, without credentials, default port, trailing slash, query and fragment",
  );

const words = (value: string, separator: RegExp) => [...new Set(value.split(separator).filter((word) => word !== ""))];

/** A list without repeats whose words all pass the test. An empty text is an empty list. */
export const listOf = (separator: RegExp, test: (word: string) => boolean, fault: string, remedy: string) =>
  text((value) => words(value, separator).every(test), fault, remedy).transform((value) => words(value, separator));

export const SPACES_OR_COMMAS = /[\s,]+/;

export const issuers = () =>
  listOf(
    SPACES_OR_COMMAS,
    isIssuer,
    "contains something that is not an issuer identifier",
    "give https URLs as the issuers spell them, separated by spaces or commas",
  );

const isHost = (value: string) => isIP(value) !== 0 || /^(?!.*\.\.)[a-z0-9]([a-z0-9._-]{0,251}[a-z0-9])?$/i.test(value);
export const host = () => text(isHost, "is not a host name or IP address", "give one without scheme, port and brackets");
