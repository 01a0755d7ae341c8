import { apiErrorPrinter } from "../http/errors.ts";
import type { Route } from "../http/routes.ts";
import { pageErrorPrinter } from "../pages/errors.ts";
import type { PageKit } from "../pages/kit.ts";
import { forgotPasswordRoute, resetPasswordRoute } from "./forgotten-password.ts";
import { loginRoute } from "./login.ts";
import { logoutRoute } from "./logout.ts";
import { registerRoute } from "./register.ts";
import { resendErrorPrinter, resendVerificationRoute } from "./resend-verification.ts";
import { verifyErrorPrinter, verifyRoute } from "./verify.ts";

/** The account endpoints (specification §4.2). */
export function accountRoutes(kit: Pick<PageKit, "ports" | "cookies" | "guard" | "site">): readonly Route[] {
  const { ports, cookies, site } = kit;
  const print = apiErrorPrinter(ports.issuer);
  return [
    { method: "POST", path: "/auth/register", print, answer: registerRoute(ports) },
    { method: "POST", path: "/auth/login", print: apiErrorPrinter(ports.issuer, "Password"), answer: loginRoute(ports, cookies) },
    { method: "POST", path: "/auth/logout", print, answer: logoutRoute(ports, cookies) },
    { method: "POST", path: "/auth/resend-verification", print: resendErrorPrinter(print), answer: resendVerificationRoute(ports) },
    { method: "POST", path: "/auth/forgot-password", print, answer: forgotPasswordRoute(ports) },
    { method: "POST", path: "/auth/reset-password", print, answer: resetPasswordRoute(ports) },
    { method: "GET", path: "/auth/verify", print: verifyErrorPrinter(print, pageErrorPrinter(site), kit), answer: verifyRoute(kit) },
  ];
}
