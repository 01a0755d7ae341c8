import { isRefusal, Refusal, type RefusalCode } from "../../errors.ts";

/** A condition of a request, as `explain` lists it. */
export interface RuleHead {
  readonly name: string;
  /** What has to hold, in a sentence for operators. */
  readonly demand: string;
  /** Where that is written: an RFC, a draft, or a section of docs/protocol.md. */
  readonly source: string;
  /** Listed only where a request is subject to it. */
  readonly conditional?: true;
}

/** A rule: it refuses with its own reason, or returns what it found. */
export type Rule<Facts, Value = void> = RuleHead & { readonly check: (facts: Facts) => Value };

/** Runs rules one by one. The trace of `explain` also keeps the verdict of each. */
export interface RuleTrace {
  /** @returns what the rule found  @throws {Refusal} under the name of the rule */
  check<Facts, Value>(rule: Rule<Facts, Value>, facts: Facts): Value;
  /** The same for asynchronous work. */
  settle<Value>(rule: RuleHead, work: Promise<Value>): Promise<Value>;
  /** For a rule whose refusal obliges the caller to act before it is thrown. @returns that refusal; undefined if the rule holds */
  refusalOf<Facts>(rule: Rule<Facts>, facts: Facts): Refusal | undefined;
  /** Notes a rule that cannot be evaluated on this request. */
  assume(rule: RuleHead): void;
  /** A trace whose refusals pass through `mask`. */
  masked(mask: (refusal: Refusal) => Refusal): RuleTrace;
}

export type RuleOutcome = "passed" | "assumed" | Refusal;

/** Whether an error says something about the request; an outage does not. */
export const isVerdict = (error: unknown): error is Refusal => isRefusal(error) && error.code !== "temporarily_unavailable";

/** The members of an audit record that say why a request was refused. */
export const because = ({ code, reason, detail: { rule } }: Refusal) => ({ reason, error: code, ...(rule !== undefined && { rule }) });

/** The same refusal under one code, for a caller who may learn nothing else. */
export const withoutDetails =
  (code: RefusalCode) =>
  (refusal: Refusal): Refusal => {
    const { rule, cause = refusal } = refusal.detail;
    return new Refusal(code, refusal.reason, { ...(rule !== undefined && { rule }), cause });
  };

/** Adds the name of its rule to a refusal, unless an inner rule has named it. */
export const named = ({ name }: RuleHead, refusal: Refusal): Refusal => {
  const { code, reason, detail } = refusal;
  return detail.rule === undefined ? new Refusal(code, reason, { ...detail, rule: name, cause: detail.cause ?? refusal }) : refusal;
};

/** @param record called with the outcome of each rule that is evaluated */
export function ruleTrace(
  record?: (rule: RuleHead, outcome: RuleOutcome) => void,
  mask: (refusal: Refusal) => Refusal = (refusal) => refusal,
): RuleTrace {
  const failed = (rule: RuleHead, thrown: unknown): unknown => {
    if (!isVerdict(thrown)) return thrown;
    const refusal = mask(named(rule, thrown));
    record?.(rule, refusal);
    return refusal;
  };
  const check: RuleTrace["check"] = (rule, facts) => {
    try {
      const value = rule.check(facts);
      record?.(rule, "passed");
      return value;
    } catch (error) {
      throw failed(rule, error);
    }
  };
  return {
    check,
    async settle(rule, work) {
      try {
        const value = await work;
        record?.(rule, "passed");
        return value;
      } catch (error) {
        throw failed(rule, error);
      }
    },
    refusalOf(rule, facts) {
      try {
        check(rule, facts);
        return undefined;
      } catch (error) {
        if (isVerdict(error)) return error;
        throw error;
      }
    },
    assume: (rule) => record?.(rule, "assumed"),
    masked: (outer) => ruleTrace(record, outer),
  };
}

/** Runs rules without recording them: the trace of every real request. */
export const ENFORCED: RuleTrace = ruleTrace();
