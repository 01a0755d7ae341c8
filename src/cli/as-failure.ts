import { refusalOf } from "@countersign/admin";
import { CommandFailure, EXIT, type ExitCode } from "./failure.ts";

const CODES: { readonly [Status in number]?: ExitCode } = { 401: EXIT.notSignedIn, 404: EXIT.notFound, 503: EXIT.unreachable };

/** Any error as the failure that a person can make something of. */
export function asFailure(error: unknown): CommandFailure {
  if (error instanceof CommandFailure) return error;
  const refusal = refusalOf(error);
  if (refusal !== undefined) {
    const issues = refusal.issues.map(({ path, message }) => `\n  ${path === "" ? "request" : path}: ${message}`);
    return new CommandFailure(CODES[refusal.httpStatus] ?? EXIT.failed, `${refusal.message}${issues.join("")}`);
  }
  if (isUnreachable(error)) return new CommandFailure(EXIT.unreachable, "The server does not answer.");
  return new CommandFailure(EXIT.failed, error instanceof Error ? error.message : String(error));
}

/** What `fetch` throws when there is nobody to talk to, by itself or wrapped by the client. */
const isUnreachable = (error: unknown): boolean =>
  error instanceof Error && ((error instanceof TypeError && error.message === "fetch failed") || isUnreachable(error.cause));
