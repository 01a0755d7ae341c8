import { apiErrorPrinter } from "../http/errors.ts";
import type { RouteGroup } from "../http/routes.ts";
import { pageErrorPrinter } from "../pages/errors.ts";
import type { PageKit } from "../pages/kit.ts";
import { forgotPasswordRoute, resetPasswordRoute } from "./forgotten-password.ts";
import { loginRoute } from "./login.ts";
import { logoutRoute } from "./logout.ts";
import { registerRoute } from "./register.ts";
import { resendErrorPrinter, resendVerificationRoute } from "./resend-verification.ts";
import { verifyErrorPrinter, verifyRoute } from "./verify.ts";

/** The account endpoints (specification §4.2). */
export function accountRoutes(kit: Pick<PageKit, "ports" | "cookies" | "guard" | "site">): RouteGroup {
  const { ports, cookies, site } = kit;
  const print = apiErrorPrinter(ports.issuer);
  return {
    fixed: {
      "/auth/register": { methods: { POST: registerRoute(ports) }, print },
      "/auth/login": { methods: { POST: loginRoute(ports, cookies) }, print: apiErrorPrinter(ports.issuer, "Password") },
      "/auth/logout": { methods: { POST: logoutRoute(ports, cookies) }, print },
      "/auth/resend-verification": { methods: { POST: resendVerificationRoute(ports) }, print: resendErrorPrinter(print) },
      "/auth/forgot-password": { methods: { POST: forgotPasswordRoute(ports) }, print },
      "/auth/reset-password": { methods: { POST: resetPasswordRoute(ports) }, print },
      "/auth/verify": { methods: { GET: verifyRoute(kit) }, print: verifyErrorPrinter(print, pageErrorPrinter(site), kit) },
    },
  };
}
