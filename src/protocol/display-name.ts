import { z } from "zod";

const MAX_LENGTH = 255;

/** A character that shows: neither blank nor one that is nothing to look at. */
const VISIBLE = /[^\p{White_Space}\p{Default_Ignorable_Code_Point}]/u;
const DECEIVING = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u;

/**
 * What is wrong with a name that is shown to users, in fixed words; undefined for a valid one. A name shows, shows as what it is, and can be
 * stored. The same for every way in which a client comes to be.
 * @see docs/protocol.md#clients, docs/protocol.md#limits
 */
export function displayNameFault(name: string): string | undefined {
  if (Array.from(name).length > MAX_LENGTH) return `must have a length of at most ${MAX_LENGTH}`;
  if (!name.isWellFormed()) return "contains a character that cannot be stored";
  if (DECEIVING.test(name)) return "must not contain control or bidirectional characters";
  if (name === "") return "must not be empty";
  return VISIBLE.test(name) ? undefined : "must not be blank";
}

/** Such a name where JSON is read. */
export const DisplayName = z
  .string()
  .check(({ value, issues }) => {
    const message = displayNameFault(value);
    if (message !== undefined) issues.push({ code: "custom", message, input: value });
  })
  .meta({ minLength: 1, maxLength: MAX_LENGTH });
