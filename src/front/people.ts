import { accountRoutes } from "./auth/routes.ts";
import { authorizationFlow, authorizeRoutes } from "./authorize.ts";
import { consentRoutes } from "./consents.ts";
import { cookiesOf } from "./cookies.ts";
import { formGuard } from "./form-guard.ts";
import { pageRoutes } from "./pages/routes.ts";
import { siteOf } from "./pages/site.ts";
import type { PeoplePorts } from "./people-ports.ts";
import type { RouteGroup } from "./routes.ts";

/** Everything that people meet: account endpoints, consents, authorization, and the hosted pages. */
export function peopleRoutes(ports: PeoplePorts): readonly RouteGroup[] {
  const cookies = cookiesOf(ports.issuer);
  const guard = formGuard({ issuer: ports.issuer, cookies, randomBytes: ports.randomBytes });
  const flow = authorizationFlow(ports);
  const site = siteOf(ports.issuer);
  return [
    accountRoutes(ports, cookies, site, guard),
    consentRoutes(ports, cookies),
    authorizeRoutes(ports, cookies, flow, site),
    pageRoutes({ ports, cookies, guard, flow, site }),
  ];
}
