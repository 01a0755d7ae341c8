import { accountRoutes } from "./auth/routes.ts";
import { authorizationFlow, authorizeRoutes } from "./authorize.ts";
import { consentRoutes } from "./consents.ts";
import { cookiesOf } from "./cookies.ts";
import { formGuard } from "./form-guard.ts";
import type { PageKit } from "./pages/kit.ts";
import { pageRoutes } from "./pages/routes.ts";
import { siteOf } from "./pages/site.ts";
import type { PeoplePorts } from "./people-ports.ts";
import type { RouteGroup } from "./routes.ts";

/** The routes of wallet linking. */
export type WalletRoutes = (kit: PageKit) => readonly RouteGroup[];

export interface PeopleOptions extends PeoplePorts {
  /** Where it is switched on. */
  readonly wallets?: WalletRoutes | undefined;
}

/** Everything that people meet: account endpoints, consents, authorization, and the hosted pages. */
export function peopleRoutes({ wallets, ...ports }: PeopleOptions): readonly RouteGroup[] {
  const cookies = cookiesOf(ports.issuer);
  const guard = formGuard({ issuer: ports.issuer, cookies, randomBytes: ports.randomBytes });
  const flow = authorizationFlow(ports, cookies);
  const site = siteOf(ports.issuer, wallets !== undefined);
  const kit = { ports, cookies, guard, flow, site };
  return [
    accountRoutes(kit),
    consentRoutes(ports, cookies),
    authorizeRoutes(ports, cookies, flow, site),
    pageRoutes(kit),
    ...(wallets?.(kit) ?? []),
  ];
}
