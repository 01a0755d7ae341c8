import { expect, test } from "vitest";
import { z } from "zod";
import { issuesOf } from "../../../src/protocol/issue-messages.ts";
// Imports of the wallet set zod's messages for the whole process.
import "../../../src/wallet/request.ts";

const Body = z.strictObject({ name: z.string(), place: z.strictObject({ city: z.string() }).optional() });

test.for([
  ["a member of another type", { name: 3 }, [{ path: "name", message: "must be a text" }]],
  ["a member that is missing", {}, [{ path: "name", message: "is missing" }]],
  ["a list instead of an object", [], [{ path: "", message: "must be an object" }]],
  [
    "unknown members",
    { name: "a", role: "operator", emailVerified: true, place: { city: "b", zip: 1 } },
    [
      { path: "place.zip", message: "is not known here" },
      { path: "role", message: "is not known here" },
      { path: "emailVerified", message: "is not known here" },
    ],
  ],
] as const)("issues have the path of the member: %s", ([, input, issues]) => {
  const result = Body.safeParse(input);
  expect(result.success ? [] : issuesOf(result.error)).toEqual(issues);
});
