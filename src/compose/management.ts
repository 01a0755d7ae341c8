import { randomBytes } from "node:crypto";
import type { PasswordHashing } from "../accounts/password-hash.ts";
import type { Branding, Brandings } from "../branding/branding.ts";
import type { Clock } from "../clock.ts";
import type { Config } from "../config.ts";
import { bearersOf, explainerOf } from "../front/api/context.ts";
import type { TokenCore } from "../grpc/local.ts";
import { type LiveAuditPorts, liveAudit } from "../management/live.ts";
import type { ManagedRealms, ManagementPorts } from "../management/ports.ts";
import { fetchMetadata } from "../resources/metadata.ts";
import type { SecretBox } from "../secret-box.ts";
import { agentPauses } from "../store/agent-pauses.ts";
import { apiKeyDirectory, apiKeys } from "../store/api-keys.ts";
import { auditTrail } from "../store/audit-trail.ts";
import { clientRegistry, documentHistory, managedClients } from "../store/clients.ts";
import { managedConnections } from "../store/connections.ts";
import { clientConsents, consents, managedScopes } from "../store/consents.ts";
import { delegationRepository } from "../store/delegation-repository.ts";
import { figures } from "../store/figures.ts";
import { identityLinks } from "../store/identity-links.ts";
import { sentInvitations } from "../store/invitations.ts";
import { publishedKeys } from "../store/key-register.ts";
import { provisioner } from "../store/provisioning.ts";
import { managedRealms, realms } from "../store/realms.ts";
import { resourceRefusals } from "../store/resource-refusals.ts";
import { managedResources } from "../store/resources.ts";
import { sessions } from "../store/sessions.ts";
import type { Sql } from "../store/sql.ts";
import { importedUsers, managedUsers } from "../store/users.ts";
import { managedWorkloads } from "../store/workloads.ts";
import { providersOf } from "./connections.ts";
import { resourceFetch } from "./core.ts";
import { KEYS_OUTLIVE } from "./keys.ts";
import { resourceDoctor } from "./resource-doctor.ts";

export const managementPorts = (
  config: Pick<Config, "defaultClientEnvironment" | "signUp" | "issuer" | "environment" | "host"> & { readonly branding: Branding },
  sql: Sql,
  core: TokenCore,
  passwords: PasswordHashing,
  shown: Pick<ManagementPorts, "deployment" | "settings">,
  brandings: RefreshedBrandings,
  { box, clock }: { readonly box: SecretBox; readonly clock: Clock },
  mailing: Pick<ManagementPorts, "notices" | "invitations" | "closing" | "passkeys" | "secondFactors" | "passwordChanges">,
  live: Pick<LiveAuditPorts, "draining" | "failed">,
): ManagementPorts => ({
  ...shown,
  ...mailing,
  bearers: bearersOf(core),
  explainer: explainerOf(core, `${config.issuer}/oauth/token`),
  registry: clientRegistry(sql),
  clients: managedClients(sql),
  apiKeys: apiKeys(sql),
  apiKeyDirectory: apiKeyDirectory(sql),
  users: managedUsers(sql),
  sessions: sessions(sql),
  consents: consents(sql),
  clientConsents: clientConsents(sql),
  documentHistory: documentHistory(sql),
  sentInvitations: sentInvitations(sql),
  importedUsers: importedUsers(sql),
  passwords,
  realms: realms(sql),
  managedRealms: brandedAtOnce(managedRealms(sql), brandings),
  brandings,
  deploymentBranding: config.branding,
  brandingPreview: async (branding, shown) => (await import("./branding-preview.ts")).previewDocuments(branding, config.issuer, shown),
  managedScopes: managedScopes(sql),
  managedResources: managedResources(sql),
  resourceRefusals: resourceRefusals(sql),
  resourceDoctor: resourceDoctor(resourceFetch(config), config.issuer, clock),
  resourceMetadata: (resource) => fetchMetadata(resourceFetch(config), resource, config.issuer),
  issuer: config.issuer,
  managedConnections: managedConnections(sql),
  workloads: managedWorkloads(sql),
  identityLinks: identityLinks(sql),
  providers: providersOf(config, box, clock),
  box,
  publishedKeys: publishedKeys(sql, KEYS_OUTLIVE),
  auditTrail: auditTrail(sql),
  figures: figures(sql),
  liveAudit: liveAudit({ read: auditTrail(sql).live, ...live }),
  delegations: delegationRepository(sql),
  agentPauses: agentPauses(sql),
  provisioner: provisioner(sql, passwords, { issuer: config.issuer, box }),
  clock,
  randomBytes,
  defaultEnvironment: config.defaultClientEnvironment,
  signUpPolicy: config.signUp.policy,
});

/** Brandings that can be read before they are due. */
type RefreshedBrandings = Brandings & { readonly refresh: () => Promise<void> };

/** Shows a change in this process at once; others show it within seconds. */
const brandedAtOnce = (realms: ManagedRealms, { refresh }: RefreshedBrandings): ManagedRealms => ({
  ...realms,
  async setBranding(...change) {
    const branding = await realms.setBranding(...change);
    await refresh();
    return branding;
  },
});
