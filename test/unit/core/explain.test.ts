import { describe, expect, test } from "vitest";
import { rulesOf, traceRules } from "../../../src/core/explain.ts";
import { ENFORCED, named } from "../../../src/core/policy/rule.ts";
import { Refusal } from "../../../src/errors.ts";
import { Verdict } from "../../../src/gen/countersign/token/v1/token_pb.ts";
import { GRANTS, type GrantCase } from "../../../src/protocol/grants.ts";

const rule = (name: string, check: (fact: string) => void = () => undefined) => ({ name, demand: `${name}.`, source: "here", check });
const refuse = (): never => {
  throw new Refusal("invalid_grant", "because");
};

test.for(Object.keys(GRANTS) as GrantCase[])("the rules of %s have distinct names, each with a demand and a source", (grant) => {
  const names = rulesOf(grant).map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  for (const { demand, source } of rulesOf(grant)) {
    expect(demand).toMatch(/^[A-Za-z].*\.$/);
    expect(source).toMatch(/^(?:docs\/protocol\.md#[a-z-]+|RFC|OAuth|ID-JAG)/);
  }
});

describe("a rule trace", () => {
  test("evaluates no rule after the first refusal, and has a verdict for every rule", async () => {
    const evaluated: string[] = [];
    const noting = (name: string) => rule(name, () => void evaluated.push(name));
    const rules = [noting("first"), rule("second"), rule("third", refuse), noting("fourth")];
    const { found, verdicts } = await traceRules(rules, async (trace) => {
      trace.check(noting("first"), "fact");
      trace.assume(rule("second"));
      trace.check(rule("third", refuse), "fact");
      trace.check(noting("fourth"), "fact");
    });
    expect(found).toBeUndefined();
    expect(evaluated).toEqual(["first"]);
    expect(verdicts.map(({ rule: name, verdict, reason }) => [name, verdict, reason])).toEqual([
      ["first", Verdict.PASSED, undefined],
      ["second", Verdict.TAKEN_FOR_GRANTED, undefined],
      ["third", Verdict.REFUSED, "because"],
      ["fourth", Verdict.NOT_REACHED, undefined],
    ]);
  });

  test("returns the result of the run when every rule holds", async () => {
    const length = { ...rule("length"), check: (fact: string) => fact.length };
    const { found, verdicts } = await traceRules([length], async (trace) => trace.check(length, "fact"));
    expect([found, verdicts.map(({ verdict }) => verdict)]).toEqual([4, [Verdict.PASSED]]);
  });

  test("throws an outage instead of recording it", async () => {
    const outage = new Refusal("temporarily_unavailable", "storage_unavailable");
    await expect(traceRules([rule("first")], (trace) => trace.settle(rule("first"), Promise.reject(outage)))).rejects.toBe(outage);
  });

  test("rejects a rule that is not in its list", async () => {
    await expect(traceRules([rule("first")], async (trace) => trace.check(rule("second"), "fact"))).rejects.toThrow("second");
  });

  test("returns a refusal to a caller that acts on it, and masks refusals", () => {
    expect(ENFORCED.refusalOf(rule("holds"), "fact")).toBeUndefined();
    expect(ENFORCED.refusalOf(rule("fails", refuse), "fact")).toMatchObject({ reason: "because", detail: { rule: "fails" } });
    const masked = ENFORCED.masked(({ reason }) => new Refusal("invalid_scope", reason));
    expect(() => masked.check(rule("fails", refuse), "fact")).toThrow(expect.objectContaining({ code: "invalid_scope" }));
  });
});

test("a refusal is named after the innermost rule and keeps its description; a fault is thrown unchanged", () => {
  const outer = rule("outer", () => ENFORCED.check(rule("inner", refuse), ""));
  expect(() => ENFORCED.check(outer, "")).toThrow(expect.objectContaining({ code: "invalid_grant", reason: "because" }));
  const described = named(rule("only"), new Refusal("invalid_scope", "because", { description: "Words." }));
  expect(described).toMatchObject({ detail: { description: "Words.", rule: "only" } });
  expect(ENFORCED.refusalOf(outer, "")).toMatchObject({ detail: { rule: "inner" } });
  const fault = new Error("fault");
  const faulty = rule("faulty", () => {
    throw fault;
  });
  expect(() => ENFORCED.check(faulty, "")).toThrow(fault);
});
