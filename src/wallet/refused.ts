import { Refusal } from "../errors.ts";

/**
 * Refuses what a wallet presented.
 * @param reason a fixed word for the audit record; the wallet never sees it
 * @throws {Refusal} access_denied, always
 */
export function refuse(reason: string, cause?: unknown): never {
  throw new Refusal("access_denied", reason, cause === undefined ? {} : { cause });
}
