import { expect, test } from "vitest";
import { z } from "zod";
import { issuesOf } from "../../../src/protocol/issue-messages.ts";
// What the wallet loads sets zod's messages for the whole process.
import "../../../src/wallet/request.ts";

const Body = z.strictObject({ name: z.string(), place: z.strictObject({ city: z.string() }).optional() });

test.for([
  ["a member of another kind", { name: 3 }, [{ path: "name", message: "must be a text" }]],
  ["a member that is missing", {}, [{ path: "name", message: "is missing" }]],
  ["a list in place of the whole", [], [{ path: "", message: "must be an object" }]],
  [
    "members that are not known, each by its name",
    { name: "a", role: "operator", emailVerified: true, place: { city: "b", zip: 1 } },
    [
      { path: "place.zip", message: "is not known here" },
      { path: "role", message: "is not known here" },
      { path: "emailVerified", message: "is not known here" },
    ],
  ],
] as const)("what is wrong with an input is said at its member: %s", ([, input, issues]) => {
  const result = Body.safeParse(input);
  expect(result.success ? [] : issuesOf(result.error)).toEqual(issues);
});
