import { GuardRefusal } from "../../guard-sdk/src/refusal.ts";

/** Code and reason with which something is refused; fails when it is not. */
export async function refusalOf(attempt: () => unknown): Promise<readonly [code: string, reason: string]> {
  try {
    await attempt();
  } catch (error) {
    if (error instanceof GuardRefusal) return [error.code, error.reason];
    throw error;
  }
  throw new Error("it was not refused");
}
