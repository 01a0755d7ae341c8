import { consentRoutes } from "./auth/consents.ts";
import { forgotPasswordRoute, registerRoute, resendVerificationRoute, resetPasswordRoute, verifyRoute } from "./auth/register.ts";
import { loginRoute, logoutRoute, upstreamLogoutRoute } from "./auth/sign-in.ts";
import { cookiesOf } from "./http/cookies.ts";
import type { Route } from "./http/routes.ts";
import { authorizeRoutes } from "./oauth/authorize.ts";
import type { PageKit } from "./pages/kit.ts";
import { pageRoutes } from "./pages/routes.ts";
import { siteOf } from "./pages/views/layout.ts";
import type { UserPorts } from "./user-ports.ts";

/** The routes of wallet linking, while it is enabled. */
export type WalletRoutes = (kit: PageKit) => readonly Route[];

/** All routes for users: account endpoints, consents, authorization, and the hosted pages. */
export function userRoutes({ wallets, ...ports }: UserPorts & { readonly wallets?: WalletRoutes | undefined }): readonly Route[] {
  const cookies = cookiesOf(ports.issuer, ports.randomBytes);
  const site = siteOf(ports.issuer, ports.brandings, wallets !== undefined);
  const kit = { ports, cookies, site };
  return [
    registerRoute(ports),
    loginRoute(ports, cookies),
    logoutRoute(ports, cookies),
    resendVerificationRoute(ports),
    forgotPasswordRoute(ports),
    resetPasswordRoute(ports),
    verifyRoute(kit),
    upstreamLogoutRoute(ports),
    ...consentRoutes(ports, cookies),
    ...authorizeRoutes(ports, cookies, site),
    ...pageRoutes(kit),
    ...(wallets?.(kit) ?? []),
  ];
}
