import type { z } from "zod";
import type { Issue } from "../errors.ts";

const TYPES: ReadonlyMap<string, string> = new Map([
  ["string", "a text"],
  ["number", "a number"],
  ["int", "a whole number"],
  ["boolean", "true or false"],
  ["array", "a list"],
  ["object", "an object"],
]);
const FORMATS: ReadonlyMap<string, string> = new Map([
  ["url", "must be an https URL"],
  ["uuid", "must be a UUID"],
  ["email", "must be an e-mail address in ASCII"],
]);

/** The first words of zod's own messages. Messages of this repository begin otherwise, and are kept. */
const OF_THE_LIBRARY = /^(?:Invalid|Too|Unrecognized)/;

/** The faults of an input, each with the path of its member. Unknown members have their own paths. */
export const issuesOf = (error: z.core.$ZodError): Issue[] =>
  error.issues.flatMap((issue) => {
    const pathOf = (...more: readonly string[]) => [...issue.path.map(String), ...more].join(".");
    return issue.code === "unrecognized_keys"
      ? issue.keys.map((key) => ({ path: pathOf(key.slice(0, 64)), message: "is not known here" }))
      : [{ path: pathOf(), message: issueWords(issue) }];
  });

/** The fault of a member in words that follow its path, as in `name: must not be empty`. Never repeats values. */
export function issueWords(issue: z.core.$ZodIssue): string {
  if (!OF_THE_LIBRARY.test(issue.message)) return issue.message;
  switch (issue.code) {
    case "invalid_type":
      return issue.message.endsWith("received undefined") ? "is missing" : `must be ${TYPES.get(issue.expected) ?? issue.expected}`;
    case "too_small":
      return Number(issue.minimum) === 1 && issue.origin !== "number"
        ? "must not be empty"
        : `must ${size(issue.origin)} at least ${issue.minimum}`;
    case "too_big":
      return `must ${size(issue.origin)} at most ${issue.maximum}`;
    case "invalid_format":
      return FORMATS.get(issue.format) ?? "is malformed";
    case "invalid_value":
      return `must be one of ${issue.values.map(String).join(", ")}`;
    case "unrecognized_keys":
      return `has unknown members: ${issue.keys.map((key) => key.slice(0, 64)).join(", ")}`;
    default:
      return "is not valid";
  }
}

const UNITS: ReadonlyMap<string, string> = new Map([
  ["string", "have a length of"],
  ["array", "have a number of entries of"],
]);
const size = (origin: string): string => UNITS.get(origin) ?? "be";
