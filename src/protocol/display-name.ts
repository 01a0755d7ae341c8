import { z } from "zod";

const MAX_LENGTH = 255;

/** A visible character. */
const VISIBLE = /[^\p{White_Space}\p{Default_Ignorable_Code_Point}]/u;
const DECEIVING = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u;

/** The fault of a name that users see, if any: too long, invisible, deceiving or not storable. @see docs/protocol.md#clients */
export function displayNameFault(name: string): string | undefined {
  if (Array.from(name).length > MAX_LENGTH) return `must have a length of at most ${MAX_LENGTH}`;
  if (!name.isWellFormed()) return "contains a character that cannot be stored";
  if (DECEIVING.test(name)) return "must not contain control or bidirectional characters";
  if (name === "") return "must not be empty";
  return VISIBLE.test(name) ? undefined : "must not be blank";
}

export const DisplayName = z
  .string()
  .check(({ value, issues }) => {
    const message = displayNameFault(value);
    if (message !== undefined) issues.push({ code: "custom", message, input: value });
  })
  .meta({ minLength: 1, maxLength: MAX_LENGTH });
