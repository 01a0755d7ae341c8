import type { Sessions } from "../accounts/ports.ts";
import type { Branding, Brandings } from "../branding/branding.ts";
import type { Config } from "../config.ts";
import { bearersOf, explainerOf } from "../front/api/context.ts";
import type { UserPorts } from "../front/user-ports.ts";
import { type LiveAuditPorts, liveAudit } from "../management/live.ts";
import type { ManagedRealms, ManagementPorts } from "../management/ports.ts";
import { fetchMetadata } from "../resources/metadata.ts";
import { accountClosing } from "../store/account-closing.ts";
import { addressChanges } from "../store/address-changes.ts";
import { agentPauses } from "../store/agent-pauses.ts";
import { apiKeyDirectory, apiKeys } from "../store/api-keys.ts";
import { auditTrail } from "../store/audit-trail.ts";
import { documentHistory, managedClients } from "../store/clients.ts";
import { managedConnections } from "../store/connections.ts";
import { clientConsents, consents, managedScopes } from "../store/consents.ts";
import { delegationRepository } from "../store/delegation-repository.ts";
import { figures } from "../store/figures.ts";
import { identityLinks } from "../store/identity-links.ts";
import { invitations, sentInvitations } from "../store/invitations.ts";
import { publishedKeys } from "../store/key-register.ts";
import { notices } from "../store/outbox.ts";
import { passkeys } from "../store/passkeys.ts";
import { passwordChanges } from "../store/password-changes.ts";
import { provisioner } from "../store/provisioning.ts";
import { managedRealms, realms } from "../store/realms.ts";
import { resourceRefusals } from "../store/resource-refusals.ts";
import { managedResources } from "../store/resources.ts";
import { secondFactors } from "../store/second-factors.ts";
import { sessions } from "../store/sessions.ts";
import type { Sql } from "../store/sql.ts";
import { importedUsers, managedUsers, users } from "../store/users.ts";
import { managedIdentities, managedIssuers } from "../store/workloads.ts";
import { resourceFetch } from "./core.ts";
import { KEYS_OUTLIVE } from "./keys.ts";
import { resourceDoctor } from "./resource-doctor.ts";

type Verb = (...given: readonly unknown[]) => Promise<unknown>;

/** Stores of accounts, for pages and the management API. Those that queue mails wake the outbox so that these leave at once. */
export function accountStores(sql: Sql, wake: () => void) {
  const waking = <Store extends object>(store: Store, ...verbs: readonly (keyof Store & string)[]): Store => {
    const awake =
      (verb: keyof Store): Verb =>
      async (...given) => {
        const result = await (store[verb] as Verb)(...given); // only verbs are named below
        wake();
        return result;
      };
    return { ...store, ...Object.fromEntries(verbs.map((verb) => [verb, awake(verb)])) };
  };
  const stored = sessions(sql);
  /** Of all sessions those that a recovery code starts queue a mail. */
  const start: Sessions["start"] = async (session, audit) => {
    const started = await stored.start(session, audit);
    if (session.factor?.kind === "recovery") wake();
    return started;
  };
  return {
    realms: realms(sql),
    clients: managedClients(sql),
    consents: consents(sql),
    delegations: delegationRepository(sql),
    agentPauses: agentPauses(sql),
    users: waking(users(sql), "register", "issueVerification"),
    passwordChanges: waking(passwordChanges(sql), "issueReset", "reset", "change"),
    identityLinks: waking(identityLinks(sql), "link", "unlink"),
    sessions: { ...stored, start },
    addressChanges: waking(addressChanges(sql), "request", "confirm"),
    closing: waking(accountClosing(sql), "close"),
    secondFactors: waking(secondFactors(sql), "confirm", "remove"),
    passkeys: waking(passkeys(sql), "add", "remove", "reportCopy"),
    notices: waking(notices(sql), "send"),
    invitations: waking(invitations(sql), "issue"),
  };
}

type Shared = ReturnType<typeof accountStores> &
  Pick<UserPorts, "core" | "issuer" | "passwords" | "signUpPolicy" | "providers" | "box" | "clock" | "randomBytes"> &
  Pick<ManagementPorts, "deployment" | "settings"> & { readonly brandings: RefreshedBrandings };

export const managementPorts = (
  config: Pick<Config, "defaultClientEnvironment" | "issuer" | "environment" | "host"> & { readonly branding: Branding },
  sql: Sql,
  shared: Shared,
  live: Pick<LiveAuditPorts, "draining" | "failed">,
): ManagementPorts => ({
  ...shared,
  bearers: bearersOf(shared.core),
  explainer: explainerOf(shared.core),
  apiKeys: apiKeys(sql),
  apiKeyDirectory: apiKeyDirectory(sql),
  users: managedUsers(sql),
  clientConsents: clientConsents(sql),
  documentHistory: documentHistory(sql),
  sentInvitations: sentInvitations(sql),
  importedUsers: importedUsers(sql),
  managedRealms: brandedAtOnce(managedRealms(sql), shared.brandings),
  deploymentBranding: config.branding,
  brandingPreview: async (branding, shown) => (await import("./branding-preview.ts")).previewDocuments(branding, config.issuer, shown),
  managedScopes: managedScopes(sql),
  managedResources: managedResources(sql),
  resourceRefusals: resourceRefusals(sql),
  resourceDoctor: resourceDoctor(resourceFetch(config), config.issuer, shared.clock),
  resourceMetadata: (resource) => fetchMetadata(resourceFetch(config), resource, config.issuer),
  managedConnections: managedConnections(sql),
  workloadIssuers: managedIssuers(sql),
  workloadIdentities: managedIdentities(sql),
  publishedKeys: publishedKeys(sql, KEYS_OUTLIVE),
  auditTrail: auditTrail(sql),
  figures: figures(sql),
  liveAudit: liveAudit({ read: auditTrail(sql).live, ...live }),
  provisioner: provisioner(sql, shared.passwords, { issuer: config.issuer, box: shared.box }),
  defaultEnvironment: config.defaultClientEnvironment,
});

type RefreshedBrandings = Brandings & { readonly refresh: () => Promise<void> };

/** Shows a change in this process at once; others show it within seconds. */
const brandedAtOnce = (realms: ManagedRealms, { refresh }: RefreshedBrandings): ManagedRealms => ({
  ...realms,
  async change(...change) {
    const realm = await realms.change(...change);
    await refresh();
    return realm;
  },
});
