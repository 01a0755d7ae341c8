import { generateKeyPairSync, randomBytes } from "node:crypto";
import { remoteKeys } from "../../src/clients/remote-keys.ts";
import type { Clock } from "../../src/clock.ts";
import type { CorePorts } from "../../src/core/ports.ts";
import { tokenCore } from "../../src/core/service.ts";
import { openKeys } from "../../src/core/signing/key-ring.ts";
import { signingKey } from "../../src/core/signing/keys.ts";
import { guardedFetch } from "../../src/outside/guarded-fetch.ts";
import { apiKeyDirectory } from "../../src/store/api-keys.ts";
import { auditLog } from "../../src/store/audit-log.ts";
import { authorizationCodes } from "../../src/store/authorization-codes.ts";
import { pushedRequests } from "../../src/store/authorization-requests.ts";
import { clientDirectory } from "../../src/store/clients.ts";
import { consentRepository } from "../../src/store/consents.ts";
import { consumedIds } from "../../src/store/consumed-ids.ts";
import { delegations } from "../../src/store/delegations.ts";
import { detachedSignatures } from "../../src/store/detached-signatures.ts";
import { deviceRequests } from "../../src/store/device-requests.ts";
import { grants } from "../../src/store/grants.ts";
import { keyRegister } from "../../src/store/key-register.ts";
import { logoutSubscriptions } from "../../src/store/logouts.ts";
import { refreshFamilies } from "../../src/store/refresh-families.ts";
import { resourceDirectory } from "../../src/store/resources.ts";
import type { Sql } from "../../src/store/sql.ts";
import { tokenStates } from "../../src/store/token-states.ts";
import { aThrottle } from "./throttle.ts";
import { NO_WORKLOADS } from "./workloads.ts";

export const ISSUER = "https://issuer.example.test";

/** A token core over a real store, with a clock of the test. */
export async function coreOver(sql: Sql, clock: Clock) {
  const pem = generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const key = signingKey(pem);
  const ports: CorePorts = {
    issuer: ISSUER,
    lifetimes: {
      accessToken: 900,
      idToken: 900,
      refreshToken: 86_400,
      refreshFamilyMax: 864_000,
      refreshReuseGrace: 0,
      authorizationCode: 60,
    },
    clock,
    effectWindow: 2,
    randomBytes,
    keys: await openKeys({ accessToken: [key] }, keyRegister(sql, 86_400)),
    clients: clientDirectory(sql),
    apiKeys: apiKeyDirectory(sql),
    resources: resourceDirectory(sql),
    resourceDiscovery: undefined,
    requireKnownResources: false,
    documents: undefined,
    assertionAudiences: [ISSUER],
    remoteKeys: remoteKeys(guardedFetch({ ownUrl: ISSUER, loopbackAllowed: false }), clock),
    documentKeys: remoteKeys(guardedFetch({ ownUrl: ISSUER, loopbackAllowed: false }), clock),
    workloads: NO_WORKLOADS,
    consumedIds: consumedIds(sql),
    logoutSubscriptions: logoutSubscriptions(sql),
    codes: authorizationCodes(sql),
    devices: deviceRequests(sql),
    pushedRequests: pushedRequests(sql),
    requirePushedRequests: false,
    families: refreshFamilies(sql),
    grants: grants(sql),
    tokens: tokenStates(sql),
    detachedSignatures: detachedSignatures(sql),
    selfContained: false,
    delegations: delegations(sql),
    identityAssertions: undefined,
    consents: consentRepository(sql),
    throttle: aThrottle(clock),
    audit: auditLog(sql),
    log: { info: () => undefined },
  };
  return { ports, key, core: tokenCore(ports) };
}
