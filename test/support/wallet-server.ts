import { expect } from "vitest";
import { type CredentialIssuer, credentialIssuer } from "./credential-issuer.ts";
import { linkingAt } from "./linking.ts";
import { startServer } from "./server.ts";

/** A server at which users link wallets, and a trusted issuer. Closing it also asserts that no fault occurred. */
export async function startWalletServer(env: Record<string, string> = {}, trusted?: CredentialIssuer) {
  const issuer = trusted ?? (await credentialIssuer());
  const server = await startServer({ env: { WALLET_FEDERATION_ENABLED: "true", WALLET_TRUSTED_ISSUERS: issuer.url, ...env } });
  return {
    issuer,
    server,
    at: linkingAt(server),
    async close() {
      const faults = server.faults();
      await Promise.all([server.close(), issuer.close()]);
      expect(faults).toEqual([]);
    },
  };
}
