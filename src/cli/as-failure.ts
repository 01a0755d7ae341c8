import { refusalOf } from "@countersign/admin";
import { CommandFailure, EXIT, type ExitCode, NO_COUNTERSIGN } from "./failure.ts";

const CODES: { readonly [Status in number]?: ExitCode } = { 401: EXIT.notSignedIn, 404: EXIT.notFound, 503: EXIT.unreachable };

/** Members of a request by the option that gives them. */
const OPTIONS: ReadonlyMap<string, string> = new Map([
  ["redirectUris", "--redirect-uri"],
  ["scopes", "--scope"],
  ["grantTypes", "--grant"],
  ["tokenEndpointAuthMethod", "--auth-method"],
  ["maxAgentMode", "--max-agent-mode"],
  ["jwksUri", "--jwks-uri"],
  ["jwks", "--jwks"],
  ["isAgent", "--agent"],
  ["clientId", "--client-id"],
  ["ownerId", "--owner"],
  ["audience", "--audience"],
  ["postLogoutRedirectUris", "--post-logout-redirect-uri"],
  ["environment", "--environment"],
  ["dynamicRegistrationScopes", "--scope"],
]);

/** Any error as the failure that a person can make something of. */
export function asFailure(error: unknown): CommandFailure {
  if (error instanceof CommandFailure) return error;
  const refusal = refusalOf(error);
  if (refusal !== undefined) {
    const issues = refusal.issues.map(({ path, message }) => `\n  ${memberOf(path)}: ${message}`);
    return new CommandFailure(CODES[refusal.httpStatus] ?? EXIT.failed, `${refusal.message}${issues.join("")}`);
  }
  if (isForeign(error)) return new CommandFailure(EXIT.unreachable, NO_COUNTERSIGN);
  if (isUnreachable(error)) return new CommandFailure(EXIT.unreachable, "The server does not answer.");
  return new CommandFailure(EXIT.failed, error instanceof Error ? error.message : String(error));
}

/** What `fetch` throws when there is nobody to talk to, by itself or wrapped by the client. */
const isUnreachable = (error: unknown): boolean =>
  error instanceof Error && ((error instanceof TypeError && error.message === "fetch failed") || isUnreachable(error.cause));

/** An answer that we never give: a page of something else, or a way to somewhere else. */
const isForeign = (error: unknown): boolean =>
  error instanceof Error && (error instanceof SyntaxError || error.message === "unexpected redirect" || isForeign(error.cause));

/** The member that is meant, as a person who gave options knows it, and which entry of it: `scopes, entry 1`. */
function memberOf(path: string): string {
  const steps = path.split(".").filter((step) => step !== "patch" && step !== "key");
  const [member = "", entry] = steps;
  // What has members in entries is a file, whose reader finds places in it by their paths.
  if (steps.length > 2 && /^\d+$/.test(entry ?? "")) return path;
  if (member === "") return "request";
  const name = OPTIONS.get(member) ?? member;
  return entry !== undefined && /^\d+$/.test(entry) ? `${name}, entry ${Number(entry) + 1}` : [name, entry].filter(Boolean).join(" ");
}
