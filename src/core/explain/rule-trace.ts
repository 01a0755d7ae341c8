import type { MessageInitShape } from "@bufbuild/protobuf";
import { isRefusal, type Refusal } from "../../errors.ts";
import { type RuleVerdictSchema, Verdict } from "../../gen/countersign/token/v1/token_pb.ts";
import type { Rule, RuleHead } from "../policy/rule.ts";

export type RecordedVerdict = MessageInitShape<typeof RuleVerdictSchema>;

/** What is told of a rule. */
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

/** Rules that are judged one after the other, to be told of all: what comes after the first refusal is not reached any more. */
export interface RuleTrace {
  readonly verdicts: readonly RecordedVerdict[];
  /** Whether nothing has been refused yet. */
  isOpen(): boolean;
  /** Judges one rule by the work that it stands for. @returns what came of it; undefined once something has been refused */
  learn<Result>(rule: RuleHead, work: () => Result | Promise<Result>): Promise<Result | undefined>;
  /** Judges rules by facts, which are there as long as nothing has been refused. @returns the facts when all hold */
  hear<Facts>(rules: readonly Rule<Facts>[], facts: Facts | undefined): Promise<Facts | undefined>;
  takeForGranted(rule: RuleHead): void;
}

/** @param spokenAs a refusal as the outside is told it */
export function openTrace(spokenAs: (refusal: Refusal) => Refusal = (refusal) => refusal, before?: RuleTrace): RuleTrace {
  const verdicts: RecordedVerdict[] = [...(before?.verdicts ?? [])];
  let open = before?.isOpen() ?? true;

  const learn: RuleTrace["learn"] = async (rule, work) => {
    if (!open) {
      verdicts.push(verdictOn(rule, Verdict.NOT_REACHED));
      return undefined;
    }
    try {
      const result = await work();
      verdicts.push(verdictOn(rule, Verdict.PASSED));
      return result;
    } catch (error) {
      // An outage says nothing about the request.
      if (!isRefusal(error) || error.code === "temporarily_unavailable") throw error;
      const { code, reason } = spokenAs(error);
      verdicts.push(verdictOn(rule, Verdict.REFUSED, { error: code, reason }));
      open = false;
      return undefined;
    }
  };
  return {
    verdicts,
    isOpen: () => open,
    learn,
    async hear(rules, facts) {
      // Rules are asked only while nothing has been refused, and so long there are facts.
      for (const rule of rules) await learn(rule, () => rule.assert(facts as NonNullable<typeof facts>));
      return open ? facts : undefined;
    },
    takeForGranted: (rule) => void verdicts.push(verdictOn(rule, open ? Verdict.TAKEN_FOR_GRANTED : Verdict.NOT_REACHED)),
  };
}
