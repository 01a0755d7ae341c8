import type { Clock, RandomBytes } from "../clock.ts";
import { Refusal } from "../errors.ts";
import { isUuid, newId } from "../identifier.ts";
import type { Consents, RefusalLog } from "./ports.ts";
import { type Caller, whence } from "./sessions.ts";

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

/** Keeps what the person allowed, beside what was allowed before. */
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
      ...whence(caller),
    },
  );
}

/** Remembers that the person said no. Nothing else comes of it: she is asked again the next time. */
export async function denyConsent(
  { userId, clientId, scopes, resources }: Omit<GivenConsent, "clientName">,
  refusals: RefusalLog,
  caller: Caller,
): Promise<void> {
  await refusals.record({
    event: "consent.denied",
    outcome: "failure",
    reason: "denied_by_person",
    actor: { type: "user", id: userId },
    userId,
    clientId,
    scope: scopes.join(" "),
    resources,
    ...whence(caller),
  });
}

/**
 * Takes a consent back, with everything that the client got by it.
 * @throws {Refusal} not_found, alike for an unknown consent and for somebody else's
 */
export async function revokeConsent(id: string, userId: string, consents: Consents, caller: Caller): Promise<void> {
  const revoked =
    isUuid(id) &&
    (await consents.revoke(id, userId, {
      event: "consent.revoked",
      outcome: "success",
      actor: { type: "user", id: userId },
      userId,
      ...whence(caller),
    }));
  if (!revoked) throw new Refusal("not_found", "consent_unknown", { description: "There is no such consent." });
}
