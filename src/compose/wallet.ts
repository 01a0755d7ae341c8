import { randomBytes } from "node:crypto";
import type { Clock } from "../clock.ts";
import type { Config } from "../config.ts";
import { walletPageRoutes } from "../front/pages/wallet/page.ts";
import type { WalletRoutes } from "../front/user-routes.ts";
import { walletHandlers } from "../front/wallet/handlers.ts";
import { walletRoutes } from "../front/wallet/routes.ts";
import { guardedFetch } from "../outside/guarded-fetch.ts";
import type { Ephemeral } from "../store/ephemeral/memory.ts";
import type { Sql } from "../store/sql.ts";
import { linkedWallets, walletLinks } from "../store/wallet-links.ts";
import { LINK_ADDRESS_LIMIT, LINK_USER_LIMIT, type LinkingPorts } from "../wallet/linking.ts";
import { credentialQuery } from "../wallet/query.ts";
import { verifierOf, walletRequests } from "../wallet/request.ts";
import { certificatesOf, issuerMetadata } from "../wallet/signatures.ts";
import { statusLists } from "../wallet/status-list.ts";
import { verifyPresentation } from "../wallet/verify.ts";
import { reachesLoopback } from "./opening.ts";

/** Wallet linking. Imported only when it is enabled, because of its libraries. */
export function composeWallet(config: Config, sql: Sql, ephemeral: Ephemeral, clock: Clock): WalletRoutes {
  const linking = linkingPorts(config, sql, ephemeral, clock);
  return (kit) => [...walletRoutes(config.issuer, walletHandlers({ ...kit, linking })), ...walletPageRoutes({ ...kit, linking })];
}

function linkingPorts(config: Config, sql: Sql, ephemeral: Ephemeral, clock: Clock): LinkingPorts {
  const { issuer, wallet } = config;
  const policy = { ...wallet, types: wallet.credentialTypes, status: wallet.credentialStatus };
  const query = credentialQuery(policy);
  const verifier = verifierOf({ issuer, ...wallet });
  const fetch = guardedFetch({ ownUrl: issuer, loopbackAllowed: reachesLoopback(config) });
  const trust = { keys: issuerMetadata(fetch, clock), roots: certificatesOf(wallet.issuerRoots ?? "") };
  const verification = { policy, query, trust, lists: statusLists(fetch, trust), clock };
  return {
    limits: {
      user: ephemeral.rateLimiter("wallet-link-user", LINK_USER_LIMIT),
      address: ephemeral.rateLimiter("wallet-link-address", LINK_ADDRESS_LIMIT),
    },
    links: walletLinks(sql),
    wallets: linkedWallets(sql),
    requests: walletRequests(issuer, verifier, query),
    verify: (presentation, nonce) => verifyPresentation(presentation, { clientId: verifier.clientId, nonce }, verification),
    clock,
    randomBytes,
  };
}
