import { describe, expect, test } from "vitest";
import { rulesOf } from "../../../src/core/explain/refusal.ts";
import { openTrace } from "../../../src/core/explain/rule-trace.ts";
import { assertRules, named } from "../../../src/core/policy/rule.ts";
import { Refusal } from "../../../src/errors.ts";
import { Verdict } from "../../../src/gen/countersign/token/v1/token_pb.ts";
import { GRANT_TYPES } from "../../../src/protocol/grants.ts";

const rule = (name: string, assert: (fact: string) => void = () => undefined) => ({ name, demand: `${name}.`, source: "here", assert });
const refuse = (): never => {
  throw new Refusal("invalid_grant", "because");
};

test.for(GRANT_TYPES)("the rules of %s have names that tell them apart, each with its demand and source", (grantType) => {
  const names = rulesOf(grantType).map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  for (const { demand, source } of rulesOf(grantType)) {
    expect(demand).toMatch(/^[A-Za-z].*\.$/);
    expect(source).toMatch(/^(?:specification|RFC|OAuth|ID-JAG|decision)/);
  }
});

describe("a hearing", () => {
  test("asks no rule after the first refusal, and tells of all", async () => {
    const asked: string[] = [];
    const asking = (name: string) => rule(name, () => void asked.push(name));
    const hearing = openTrace();
    expect(await hearing.hear([asking("first"), rule("second", refuse), asking("third")], "fact")).toBeUndefined();
    expect(await hearing.learn(asking("fourth"), () => asked.push("fourth"))).toBeUndefined();
    hearing.takeForGranted(rule("fifth"));
    expect(asked).toEqual(["first"]);
    expect(hearing.verdicts.map(({ rule: name, verdict, reason }) => [name, verdict, reason])).toEqual([
      ["first", Verdict.PASSED, undefined],
      ["second", Verdict.REFUSED, "because"],
      ["third", Verdict.NOT_REACHED, undefined],
      ["fourth", Verdict.NOT_REACHED, undefined],
      ["fifth", Verdict.NOT_REACHED, undefined],
    ]);
  });

  test("is not held over an outage", async () => {
    const outage = new Refusal("temporarily_unavailable", "storage_unavailable");
    await expect(openTrace().learn(rule("first"), () => Promise.reject(outage))).rejects.toBe(outage);
  });
});

test("a refusal bears the name of the innermost rule, keeps what it says, and a fault stays as it is", () => {
  const rules = [rule("outer", () => assertRules([rule("inner", refuse)], ""))];
  expect(() => assertRules(rules, "")).toThrow(expect.objectContaining({ code: "invalid_grant", reason: "because" }));
  const described = named(rule("only"), new Refusal("invalid_scope", "because", { description: "Words." }));
  expect(described).toMatchObject({ detail: { description: "Words.", rule: "only" } });
  try {
    assertRules(rules, "");
  } catch (error) {
    expect(error).toMatchObject({ detail: { rule: "inner" } });
  }
  const fault = new Error("fault");
  expect(named(rule("only"), fault)).toBe(fault);
});
