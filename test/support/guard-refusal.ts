import { GuardRefusal } from "../../guard-sdk/src/refusal.ts";

/** The code and reason of a refusal; fails when there is none. */
export async function refusalOf(attempt: () => unknown): Promise<readonly [code: string, reason: string]> {
  try {
    await attempt();
  } catch (error) {
    if (error instanceof GuardRefusal) return [error.code, error.reason];
    throw error;
  }
  throw new Error("nothing was refused");
}
