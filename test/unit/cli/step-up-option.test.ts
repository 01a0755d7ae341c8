import { expect, test } from "vitest";
import { demandText, scopeDemand } from "../../../src/cli/resources.ts";

test.for<[string, string, object | undefined]>([
  ["notes:write=mfa", "notes:write", { acr: "urn:countersign:mfa" }],
  ["notes:write=phr,300", "notes:write", { acr: "phr", maxAge: 300 }],
  ["a=b=any,60", "a=b", { maxAge: 60 }],
  ["notes:write=none", "notes:write", undefined],
])("--step-up %s", ([value, scope, stepUp]) => {
  expect(scopeDemand(value)).toEqual([{ scope, stepUp }]);
  if (stepUp !== undefined) expect(`${scope}=${demandText(stepUp)}`).toBe(value);
});

test.for(["notes:write", "=mfa", "x=any", "x=none,5", "x=strong", "x=mfa,0", "x=mfa,", "x=mfa,1e3"])("refuses --step-up %s", (value) => {
  expect(() => scopeDemand(value)).toThrow("must be a scope");
});
