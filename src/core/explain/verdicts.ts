import type { MessageInitShape } from "@bufbuild/protobuf";
import { type RuleVerdictSchema, Verdict } from "../../gen/countersign/token/v1/token_pb.ts";
import { isVerdict, type RuleHead, type RuleOutcome, type RuleTrace, ruleTrace } from "../policy/rule.ts";

export type RecordedVerdict = MessageInitShape<typeof RuleVerdictSchema>;

/** A rule with its verdict, as `explain` answers it. */
export const verdictOn = (
  { name: rule, demand, source }: RuleHead,
  verdict: Verdict,
  refusal?: { readonly error: string | undefined; readonly reason: string },
): RecordedVerdict => ({
  rule,
  demand,
  source,
  verdict,
  ...(refusal && { reason: refusal.reason, ...(refusal.error !== undefined && { error: refusal.error }) }),
});

function printed(rule: RuleHead, outcome: RuleOutcome | undefined): RecordedVerdict {
  if (outcome === undefined) return verdictOn(rule, Verdict.NOT_REACHED);
  if (outcome === "passed") return verdictOn(rule, Verdict.PASSED);
  if (outcome === "assumed") return verdictOn(rule, Verdict.TAKEN_FOR_GRANTED);
  return verdictOn(rule, Verdict.REFUSED, { error: outcome.code, reason: outcome.reason });
}

/**
 * Runs rules and keeps their verdicts. Nothing after the first refusal is evaluated.
 * @param rules all that `run` may evaluate, in order
 * @returns a verdict for each rule, and what the run found; undefined when a rule refused
 * @throws whatever is not the refusal of a rule: an outage says nothing about the request
 */
export async function traceRules<Found>(rules: readonly RuleHead[], run: (trace: RuleTrace) => Promise<Found>) {
  const outcomes = new Map<string, RuleOutcome>();
  const trace = ruleTrace(({ name }, outcome) => {
    if (!rules.some((rule) => rule.name === name)) throw new Error(`the rule ${name} is not among the rules that are explained`);
    outcomes.set(name, outcome);
  });
  let found: Found | undefined;
  try {
    found = await run(trace);
  } catch (error) {
    if (!isVerdict(error)) throw error;
  }
  return { found, verdicts: rules.map((rule) => printed(rule, outcomes.get(rule.name))) };
}
