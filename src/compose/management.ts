import { randomBytes } from "node:crypto";
import type { PasswordHashing } from "../accounts/password-hash.ts";
import { systemClock } from "../clock.ts";
import type { Config } from "../config.ts";
import { bearersOf } from "../front/api/context.ts";
import { explainerOf } from "../front/api/explainer.ts";
import type { TokenCore } from "../grpc/local.ts";
import type { ManagementPorts } from "../management/ports.ts";
import { fetchMetadata } from "../resources/metadata.ts";
import { accountClosing } from "../store/account-closing.ts";
import { agentPauses } from "../store/agent-pauses.ts";
import { apiKeyDirectory, apiKeys } from "../store/api-keys.ts";
import { auditTrail } from "../store/audit-trail.ts";
import { clientRegistry, managedClients } from "../store/clients.ts";
import { managedScopes } from "../store/consents.ts";
import { delegationRepository } from "../store/delegation-repository.ts";
import { importedUsers } from "../store/imported-users.ts";
import { invitations } from "../store/invitations.ts";
import { publishedKeys } from "../store/key-register.ts";
import { provisioner } from "../store/provisioning.ts";
import { managedRealms, realms } from "../store/realms.ts";
import { managedResources } from "../store/resources.ts";
import type { Sql } from "../store/sql.ts";
import { managedUsers } from "../store/users.ts";
import { resourceFetch } from "./core.ts";
import { KEYS_OUTLIVE } from "./keys.ts";

export const managementPorts = (
  {
    defaultClientEnvironment: defaultEnvironment,
    signUp,
    issuer,
    environment,
    host,
  }: Pick<Config, "defaultClientEnvironment" | "signUp" | "issuer" | "environment" | "host">,
  sql: Sql,
  core: TokenCore,
  passwords: PasswordHashing,
  deployment: ManagementPorts["deployment"],
  mailing: Pick<ManagementPorts, "invitations" | "closing"> = { invitations: invitations(sql), closing: accountClosing(sql) },
): ManagementPorts => ({
  deployment,
  bearers: bearersOf(core),
  explainer: explainerOf(core),
  registry: clientRegistry(sql),
  clients: managedClients(sql),
  apiKeys: apiKeys(sql),
  apiKeyDirectory: apiKeyDirectory(sql),
  users: managedUsers(sql),
  invitations: mailing.invitations,
  closing: mailing.closing,
  importedUsers: importedUsers(sql),
  passwords,
  realms: realms(sql),
  managedRealms: managedRealms(sql),
  managedScopes: managedScopes(sql),
  managedResources: managedResources(sql),
  resourceMetadata: (resource) => fetchMetadata(resourceFetch({ issuer, environment, host }), resource, issuer),
  issuer,
  publishedKeys: publishedKeys(sql, KEYS_OUTLIVE),
  auditTrail: auditTrail(sql),
  delegations: delegationRepository(sql),
  agentPauses: agentPauses(sql),
  provisioner: provisioner(sql, passwords),
  clock: systemClock,
  randomBytes,
  defaultEnvironment,
  signUpPolicy: signUp.policy,
});
