import type { AuditEntry } from "../audit.ts";
import { Refusal } from "../errors.ts";
import { auditOfUser, type Caller } from "./caller.ts";
import type { DelegationRepository } from "./delegations.ts";
import type { Sessions } from "./ports.ts";

/** The reason of a refusal: the session lived when the request came, and has ended since. */
export const SESSION_ENDED = "session_ended";

/** @param clientId of the access token in the request */
const sessionEnded = (userId: string, caller: Caller, reason: string, clientId?: string): AuditEntry =>
  auditOfUser("session.ended", userId, caller, { reason, ...(clientId !== undefined && { clientId }) });

/** Ends every session and refresh family of a user. @param clientId of the access token in the request @see docs/protocol.md#sessions */
export async function signOutEverywhere(userId: string, sessions: Sessions, caller: Caller, clientId?: string): Promise<void> {
  await sessions.endAll(userId, sessionEnded(userId, caller, "signed_out_everywhere", clientId));
}

/** Ends one session of a user, with the token set that it started with. @throws {Refusal} not_found, also for another user's */
export async function signOutElsewhere(id: string, userId: string, sessions: Sessions, caller: Caller): Promise<void> {
  const ended = await sessions.endOne(id, userId, sessionEnded(userId, caller, "signed_out_elsewhere"));
  if (!ended) throw new Refusal("not_found", "session_unknown", { description: "There is no such session." });
}

/** Ends the session of the request in the same way. Idempotent. @param clientId of the access token in the request */
export async function signOutHere(id: string, userId: string, sessions: Sessions, caller: Caller, clientId?: string): Promise<void> {
  await sessions.endOne(id, userId, sessionEnded(userId, caller, "signed_out", clientId));
}

/** Ends a grant of the command line, with all of its tokens. Idempotent. */
export async function signOutCommandLine(
  grantId: string,
  userId: string,
  { cut }: Pick<DelegationRepository, "cut">,
  caller: Caller,
): Promise<void> {
  await cut({ kind: "user", userId }, { kind: "grant", id: grantId }, sessionEnded(userId, caller, "signed_out"));
}

/** Ends every session of a user but one in the same way. */
export async function signOutOthers(keep: string, userId: string, sessions: Sessions, caller: Caller): Promise<void> {
  await sessions.endOthers(keep, userId, sessionEnded(userId, caller, "signed_out_others"));
}
