import { isLoopbackHost } from "../protocol/access.ts";
import type { Deployment } from "./record-ports.ts";

/**
 * Names of settings that are right for a trial and wrong in production, or that contradict what requests show. Pure.
 * @see docs/doctor.md
 */
export function unsafeSettings({ environment, issuer, signUp, mail, redis, database, callers }: Omit<Deployment, "unsafe">) {
  const { protocol, hostname } = new URL(issuer);
  const inProduction = {
    JWT_ISSUER: protocol !== "https:" && !isLoopbackHost(hostname),
    SIGN_UP: signUp === "open",
    SMTP_URL: mail === "files",
    DATABASE_URL: database.kind === "embedded",
    REDIS_URL: !redis,
  };
  const unsafe = { ...(environment === "production" && inProduction), TRUST_PROXY: callers.proxyHeadersIgnored > 0 };
  return Object.entries(unsafe).flatMap(([name, is]) => (is ? [name] : []));
}
