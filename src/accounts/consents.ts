import { Refusal } from "../errors.ts";
import { isUuid, newId } from "../random.ts";
import { LANGUAGES, type Language, TEXTS, type Texts } from "../texts/languages.ts";
import type { AccountPorts } from "./account-ports.ts";
import { auditOfUser, type Caller } from "./caller.ts";
import type { Consents, NewConsent, RefusalLog } from "./ports.ts";

type GivenConsent = Omit<NewConsent, "id">;

/** Stores what a user allowed, in addition to what they allowed before. */
export async function giveConsent(consent: GivenConsent, { consents, clock, randomBytes }: AccountPorts, caller: Caller): Promise<void> {
  const { userId, clientId, scopes, resources } = consent;
  const audit = auditOfUser("consent.given", userId, caller, { clientId, scope: scopes.join(" "), resources });
  await consents.give({ id: newId(clock, randomBytes), ...consent }, audit);
}

/** Records that a user denied a request. The next request asks again. */
export async function denyConsent(
  { userId, clientId, scopes, resources }: Omit<GivenConsent, "clientName" | "sessionId">,
  refusals: RefusalLog,
  caller: Caller,
): Promise<void> {
  const about = { outcome: "failure", reason: "denied_by_user", clientId, scope: scopes.join(" "), resources } as const;
  await refusals.record(auditOfUser("consent.denied", userId, caller, about));
}

/** Revokes a consent, with everything that the client got by it. @throws {Refusal} not_found, also for another user's consent */
export async function revokeConsent(id: string, userId: string, consents: Consents, caller: Caller): Promise<void> {
  const revoked = isUuid(id) && (await consents.revoke(id, userId, auditOfUser("consent.revoked", userId, caller)));
  if (!revoked) throw new Refusal("not_found", "consent_unknown", { description: "There is no such consent." });
}

/** A text in at least one language. */
export type Wording = { readonly [L in Language]?: string | undefined };

/** What a scope allows, in words for users. */
export type ScopeDescription = { readonly name: string; readonly title: Wording; readonly detail: Wording };

export interface ScopeDescriptions {
  /** The descriptions that operators of a realm gave to some of these scopes, by name. */
  of(realmId: string, names: readonly string[]): Promise<ReadonlyMap<string, ScopeDescription>>;
}

/** Descriptions of the built-in scopes, which operators can replace. */
export const BUILT_IN_SCOPES: readonly ScopeDescription[] = (Object.keys(TEXTS.en.builtInScopes) as (keyof Texts["builtInScopes"])[]).map(
  (name) => ({ name, title: inAllLanguages(name, "title"), detail: inAllLanguages(name, "detail") }),
);

function inAllLanguages(name: keyof Texts["builtInScopes"], part: "title" | "detail"): Wording {
  return Object.fromEntries(LANGUAGES.map((language) => [language, TEXTS[language].builtInScopes[name][part]]));
}
