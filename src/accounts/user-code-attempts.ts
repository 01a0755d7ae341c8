import { isRefusal, Refusal } from "../errors.ts";
import { hashSecret } from "../random.ts";
import type { Caller } from "./caller.ts";
import type { FailureBudget, SignInFailures } from "./ports.ts";

/** Wrong user codes that one address may enter in an hour. With 34.6 bits it would take thousands of years to guess one. @see RFC 8628 §5.1 */
const BUDGET: FailureBudget = { limit: 5, window: 3_600 };

const wrongCode = (): Refusal =>
  new Refusal("invalid_request", "user_code_unknown", { issues: [{ path: "user_code", message: "is not the code of a device" }] });

/** @param code as parsed  @throws {Refusal} invalid_request for what cannot be a code: a slip, and no guess that would count */
export function assertUserCode(code: string | undefined): string {
  if (code === undefined) throw wrongCode();
  return code;
}

/**
 * Looks a user code up within the budget of the caller's address. The attempt is reserved first, so that parallel guesses cannot exceed it. A
 * right code does not clear the failures: anyone can get one of their own. Entering it again after the decision is no failure in the same
 * browser, which learns nothing new by that.
 * @param entered the code, with the secret of the browser
 * @param find throws {Refusal} not_found for a wrong code
 * @throws {Refusal} invalid_request for a wrong code, too_many_requests
 */
export async function withUserCodeBudget<Found>(
  failures: SignInFailures,
  { limitKey }: Pick<Caller, "limitKey">,
  entered: string,
  find: () => Promise<Found>,
): Promise<Found> {
  const [address, known] = [hashSecret(`user code\n${limitKey}`), hashSecret(`entered user code\n${entered}`)];
  const retryAfter = await failures.reserve(address, BUDGET);
  if (retryAfter > 0) throw new Refusal("too_many_requests", "user_code_failures", { retryAfter });
  const settle = (verdict: "wrong" | "none") => failures.settle({ pair: undefined, address }, verdict, BUDGET.window);
  try {
    const found = await find();
    await failures.count(known, BUDGET.window);
    await settle("none");
    return found;
  } catch (error) {
    const isWrong = isRefusal(error) && error.code === "not_found";
    await settle(isWrong && (await failures.failures(known)) === 0 ? "wrong" : "none");
    throw isWrong ? wrongCode() : error;
  }
}
