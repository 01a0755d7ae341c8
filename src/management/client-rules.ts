import type { Role } from "../accounts/ports.ts";
import type { DeveloperRule } from "../accounts/sign-up-policy.ts";
import { type Client, type ClientSettings, DEFAULT_SETTINGS, MANAGE_CLIENTS, SETTING_MEMBERS } from "../clients/client.ts";
import { impliedResponseTypes, incoherences, uselessGrants, usesSecret } from "../clients/coherence.ts";
import type { ClientChange } from "../clients/ports.ts";
import { trustFaults, type WorkloadTrust, workloadDefaults } from "../clients/workload.ts";
import { type Issue, Refusal } from "../errors.ts";
import { merged } from "../merged.ts";
import { SELF_SERVICE_GRANT_TYPES } from "../protocol/grants.ts";
import { hashSecret } from "../random.ts";
import { mayChange, mayMakeClients } from "./acts.ts";
import type { ClientPatch, OperatorClientPatch } from "./inputs.ts";
import type { ProvisionFile } from "./provision.ts";
import type { WorkloadIssuerInput } from "./record-inputs.ts";

/** @throws {Refusal} invalid_request for a client with a grant that it could never use */
export function assertUsable(settings: Pick<ClientSettings, "grantTypes" | "tokenEndpointAuthMethod">): void {
  assertNone(uselessGrants(settings));
}

/** @throws {Refusal} invalid_request, with an issue for each invalid member */
function assertNone(issues: readonly Issue[]): void {
  if (issues.length > 0)
    throw new Refusal("invalid_request", "client_incoherent", { description: "The client would contradict itself.", issues });
}

/** Checks that a user may make clients of their own. @throws {Refusal} forbidden @see docs/protocol.md#roles */
export function assertMayMakeClients(role: Role, rule: DeveloperRule): void {
  if (mayMakeClients(role, rule)) return;
  const description =
    rule === "role"
      ? "Making clients needs the role developer, which an operator gives."
      : "Only operators make clients here. Ask one of them for yours.";
  throw new Refusal("forbidden", "not_a_developer", { description });
}

/** @throws {Refusal} forbidden when a developer adds a scope that only an operator can give */
export function assertSelfServiceScopes(scopes: readonly string[], before: readonly string[]): void {
  if (scopes.includes(MANAGE_CLIENTS) && !before.includes(MANAGE_CLIENTS)) {
    throw new Refusal("forbidden", "scope_is_the_operators", { description: `The scope ${MANAGE_CLIENTS} is given by an operator.` });
  }
}

/**
 * A client with a developer's patch, which can neither add nor remove grants that only operators give. Pure.
 * @throws {Refusal} invalid_request, forbidden
 */
export function developerChange(client: Client, patch: ClientPatch): ClientChange {
  if (patch.scopes !== undefined) assertSelfServiceScopes(patch.scopes, client.scopes);
  const operatorGrants = client.grantTypes.filter((grant) => !SELF_SERVICE_GRANT_TYPES.some((each) => each === grant));
  return operatorChange(client, { ...patch, ...(patch.grantTypes && { grantTypes: [...patch.grantTypes, ...operatorGrants] }) });
}

/** A client with an operator's patch. Pure. @throws {Refusal} invalid_request (also for a grant that it could never use), forbidden */
export function operatorChange(client: Client, patch: OperatorClientPatch): ClientChange {
  const change = mergedChange(client, patch);
  if (uselessGrants(client).length === 0) assertUsable(change.settings);
  return change;
}

/** A patched client, validated as a whole. Response types follow the grants. Pure. @throws {Refusal} invalid_request, forbidden */
function mergedChange(client: Client, patch: OperatorClientPatch): ClientChange {
  if (!mayChange(client)) throw new Refusal("forbidden", "client_is_built_in", { description: "A built-in client cannot be changed." });
  const implied = patch.grantTypes && { responseTypes: impliedResponseTypes(patch.grantTypes) };
  const settings: ClientSettings = { ...given(client), ...implied, ...given(patch) };
  assertNone(incoherences(settings));
  return { settings, secret: usesSecret(settings.tokenEndpointAuthMethod) ? "kept" : "dropped" };
}

/** Settings of a new client: those without a default, and any others. */
export type GivenSettings = Pick<ClientSettings, "name" | "grantTypes" | "tokenEndpointAuthMethod"> & {
  [Member in keyof ClientSettings]?: ClientSettings[Member] | undefined;
};

/** The settings of a new client; the default of each is the most restrictive value. Pure. @throws {Refusal} invalid_request */
export function newSettings(members: GivenSettings): ClientSettings {
  const settings: ClientSettings = {
    ...DEFAULT_SETTINGS,
    ...given(members),
    responseTypes: members.responseTypes ?? impliedResponseTypes(members.grantTypes),
  };
  assertNone(incoherences(settings));
  return settings;
}

const given = <Members extends { [Member in keyof ClientSettings]?: ClientSettings[Member] | undefined }>(members: Members) =>
  Object.fromEntries(SETTING_MEMBERS.flatMap((member) => (members[member] === undefined ? [] : [[member, members[member]]]))) as {
    [Member in keyof Members & keyof ClientSettings]: Exclude<Members[Member], undefined>;
  };

type FileClient = ProvisionFile["clients"][number];

/**
 * A client as a provisioning file describes it, validated as a whole by the rules for operators; members that it leaves out stay unchanged.
 * Unlike the API, a file may give a client a grant that it cannot use, for instance to test the token endpoint. Pure.
 * @param ownerId the account of `ownerEmail`; null: none; undefined: left out
 * @throws {Refusal} invalid_request, forbidden for a built-in client
 */
export function provisionedChange(file: FileClient, ownerId: string | null | undefined, before: Client | undefined): ClientChange {
  const { clientId: _, clientSecret, ownerEmail: __, workloadIdentities: ___, ...members } = file;
  const settings = before === undefined ? newSettings({ ...members, ownerId }) : mergedChange(before, { ...members, ownerId }).settings;
  if (settings.tokenEndpointAuthMethod === "private_key_jwt" && settings.jwks === null && settings.jwksUri === null) {
    const issues = [{ path: "jwks", message: "private_key_jwt needs jwks or jwksUri" }];
    throw new Refusal("invalid_request", "client_without_keys", { description: "The client could not authenticate.", issues });
  }
  if (!usesSecret(settings.tokenEndpointAuthMethod)) return { settings, secret: "dropped" };
  return { settings, secret: clientSecret === undefined ? "kept" : hashSecret(clientSecret) };
}

type Settings = Omit<WorkloadTrust, "issuer" | "kind">;
type Change = { readonly [Member in keyof Settings]?: Settings[Member] | undefined };

function coherent(trust: WorkloadTrust): WorkloadTrust {
  const issues = trustFaults(trust);
  if (issues.length === 0) return trust;
  throw new Refusal("invalid_request", "workload_issuer_incoherent", { description: "The issuer would contradict itself.", issues });
}

/** A platform with an operator's change. Pure. @throws {Refusal} invalid_request */
export const changedTrust = (current: WorkloadTrust, change: Change): WorkloadTrust => coherent(merged(current, change));

/** A platform as an operator describes it, with defaults for the rest. Pure. @throws {Refusal} invalid_request */
export const newTrust = ({ issuer, kind, ...settings }: WorkloadIssuerInput): WorkloadTrust =>
  changedTrust({ issuer, kind, ...workloadDefaults(kind) }, settings);
