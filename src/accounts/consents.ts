import type { Clock, RandomBytes } from "../clock.ts";
import { Refusal } from "../errors.ts";
import { isUuid, newId } from "../identifier.ts";
import type { Consents, RefusalLog } from "./ports.ts";
import { auditOrigin, type Caller } from "./sessions.ts";

export interface ConsentPorts {
  readonly consents: Consents;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
}

export interface GivenConsent {
  readonly userId: string;
  readonly clientId: string;
  readonly clientName: string;
  readonly scopes: readonly string[];
  readonly resources: readonly string[];
}

/** Stores what a user allowed, in addition to what they allowed before. */
export async function giveConsent(consent: GivenConsent, { consents, clock, randomBytes }: ConsentPorts, caller: Caller): Promise<void> {
  const { userId, clientId, scopes, resources } = consent;
  await consents.give(
    { id: newId(clock, randomBytes), ...consent },
    {
      event: "consent.given",
      outcome: "success",
      actor: { type: "user", id: userId },
      userId,
      clientId,
      scope: scopes.join(" "),
      resources,
      ...auditOrigin(caller),
    },
  );
}

/** Records that a user denied a request. The next request asks again. */
export async function denyConsent(
  { userId, clientId, scopes, resources }: Omit<GivenConsent, "clientName">,
  refusals: RefusalLog,
  caller: Caller,
): Promise<void> {
  await refusals.record({
    event: "consent.denied",
    outcome: "failure",
    reason: "denied_by_user",
    actor: { type: "user", id: userId },
    userId,
    clientId,
    scope: scopes.join(" "),
    resources,
    ...auditOrigin(caller),
  });
}

/**
 * Revokes a consent, with everything that the client got by it.
 * @throws {Refusal} not_found for an unknown consent and for another user's
 */
export async function revokeConsent(id: string, userId: string, consents: Consents, caller: Caller): Promise<void> {
  const revoked =
    isUuid(id) &&
    (await consents.revoke(id, userId, {
      event: "consent.revoked",
      outcome: "success",
      actor: { type: "user", id: userId },
      userId,
      ...auditOrigin(caller),
    }));
  if (!revoked) throw new Refusal("not_found", "consent_unknown", { description: "There is no such consent." });
}
