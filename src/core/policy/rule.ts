import { isRefusal, Refusal } from "../../errors.ts";

/** What is told of a rule, whatever came of it. */
export interface RuleHead {
  readonly name: string;
  /** What has to hold, in a sentence for operators. */
  readonly demand: string;
  readonly source: string;
}

/** One rule: it refuses with a reason of its own, or lets pass. */
export interface Rule<Facts> extends RuleHead {
  readonly assert: (facts: Facts) => void;
}

/** A rule that has to look something up. */
export interface LookUpRule<Facts> extends RuleHead {
  readonly assert: (facts: Facts) => Promise<void>;
}

/** A refusal under the name of its rule. What a rule within a rule has named stays. */
export const named = ({ name }: RuleHead, error: unknown): unknown =>
  isRefusal(error) && error.detail.rule === undefined
    ? new Refusal(error.code, error.reason, { ...error.detail, rule: name, cause: error.detail.cause ?? error })
    : error;

/** Every rule in its order. @throws {Refusal} of the first that does not hold, under its name */
export function assertRules<Facts>(rules: readonly Rule<Facts>[], facts: Facts): void {
  for (const rule of rules) {
    try {
      rule.assert(facts);
    } catch (error) {
      throw named(rule, error);
    }
  }
}

/** Work that a rule stands for. @throws {Refusal} that of the work, under the rule's name */
export const underRule = <Result>(rule: RuleHead, work: Promise<Result>): Promise<Result> =>
  work.catch((error: unknown) => {
    throw named(rule, error);
  });
