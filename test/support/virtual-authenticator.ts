import type { Page } from "playwright-core";

/** An authenticator of Chromium's own, in place of a security key or the lock of a device. @see Chrome DevTools Protocol, WebAuthn */
export async function aVirtualAuthenticator(page: Page) {
  const session = await page.context().newCDPSession(page);
  await session.send("WebAuthn.enable", { enableUI: false });
  const add = async () => {
    const { authenticatorId } = await session.send("WebAuthn.addVirtualAuthenticator", {
      options: {
        protocol: "ctap2",
        transport: "internal",
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    });
    return authenticatorId;
  };
  let authenticatorId = await add();
  return {
    passkeys: async () => (await session.send("WebAuthn.getCredentials", { authenticatorId })).credentials,
    /** Whether the user passes the check of the authenticator. */
    verifies: (isUserVerified: boolean) => session.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified }),
    /** Whether a user is there, who touches the authenticator at once. */
    touches: (enabled: boolean) => session.send("WebAuthn.setAutomaticPresenceSimulation", { authenticatorId, enabled }),
    /** The key is lost: another one takes its place. */
    async lose(): Promise<void> {
      await session.send("WebAuthn.removeVirtualAuthenticator", { authenticatorId });
      authenticatorId = await add();
    },
    /** A copy of a key counts from where it was made. */
    async setCounter(signCount: number): Promise<void> {
      const [credential] = (await session.send("WebAuthn.getCredentials", { authenticatorId })).credentials;
      if (credential === undefined) throw new Error("the authenticator holds no passkey");
      await session.send("WebAuthn.removeCredential", { authenticatorId, credentialId: credential.credentialId });
      await session.send("WebAuthn.addCredential", { authenticatorId, credential: { ...credential, signCount } });
    },
  };
}
