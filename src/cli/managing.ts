import type { AdminClient } from "@countersign/admin";
import type { Terminal } from "./terminal.ts";

/** The management API, loaded and signed in to when a command needs it. @throws {CommandFailure} */
export const managing = async (terminal: Terminal): Promise<AdminClient> => (await import("./session.ts")).signedIn(terminal);
