import { z } from "zod";

const MAX_LENGTH = 255;

/** A character that pages show, and that is no blank: they leave out those that change how others read, and the braille pattern has no dot. */
const VISIBLE = /[^\p{White_Space}\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Co}\p{Cn}\u2800]/u;
const DECEIVING = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u;

export const isVisible = (name: string): boolean => VISIBLE.test(name);
/** Whether a name has control characters, or those that change the direction of text. */
export const isDeceiving = (name: string): boolean => DECEIVING.test(name);

/** Characters that say how others are read, but for the joiners that scripts and emoji need: agents read what they hide from users. */
const FORMAT = /(?![\u200c\u200d])\p{Cf}/u;

/** What is kept of a name that comes from elsewhere, in at most `max` characters; empty where nothing is visible. Pure. */
export function keptName(name: string, max: number): string {
  const kept = Array.from(name.toWellFormed()).filter((character) => !isDeceiving(character) && !FORMAT.test(character));
  const cut = Array.from(kept.join("").trim()).slice(0, max).join("").trim();
  return isVisible(cut) ? cut : "";
}

/** The fault of a name that users see, if any: too long, invisible, deceiving or not storable. @see docs/protocol.md#clients */
export function displayNameFault(name: string): string | undefined {
  if (Array.from(name).length > MAX_LENGTH) return `must have a length of at most ${MAX_LENGTH}`;
  if (!name.isWellFormed()) return "contains a character that cannot be stored";
  if (isDeceiving(name)) return "must not contain control or bidirectional characters";
  if (name === "") return "must not be empty";
  return isVisible(name) ? undefined : "must not be blank";
}

export const DisplayName = z
  .string()
  .check(({ value, issues }) => {
    const message = displayNameFault(value);
    if (message !== undefined) issues.push({ code: "custom", message, input: value });
  })
  .meta({ minLength: 1, maxLength: MAX_LENGTH });
