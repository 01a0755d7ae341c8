import type { AdminClient } from "@countersign/admin";
import { confirm, type managementCommands, type Output } from "./management-api.ts";
import { printable, table, when } from "./table.ts";
import type { Terminal } from "./terminal.ts";

type FactorOptions = { readonly removeApp?: true; readonly removePasskey?: string; readonly yes?: true };
type SessionOptions = { readonly end?: string; readonly yes?: true };

async function factorsOf({ operator }: AdminClient, userId: string): Promise<Output> {
  const value = await operator.factors.list.query({ userId });
  const { authenticatorApp: app, passkeys } = value;
  const appRows = app === null ? [] : [["authenticator app", "", `${app.recoveryCodes} recovery codes`, when(app.addedAt), null]];
  const rows = passkeys.map(({ id, name, createdAt, lastUsedAt, copiedAt }) => [
    ...["passkey", id, copiedAt === null ? printable(name) : `${printable(name)} (copied, refused)`],
    ...[when(createdAt), when(lastUsedAt)],
  ]);
  const all = [...appRows, ...rows];
  const none = "This user has no passkey and no authenticator app.";
  return { value, text: all.length === 0 ? none : table(["FACTOR", "ID", "NAME", "ADDED", "LAST USED"], all) };
}

async function sessionsOf({ operator }: AdminClient, userId: string): Promise<Output> {
  const value = await operator.sessions.list.query({ userId });
  const rows = value.sessions.map(({ id, browser, system, address, signedInAt, lastSeenAt }) => [
    ...[id, browser, system, address],
    ...[when(signedInAt), when(lastSeenAt)],
  ]);
  const text =
    rows.length === 0 ? "This user is not signed in." : table(["ID", "BROWSER", "SYSTEM", "ADDRESS", "SIGNED IN", "LAST SEEN"], rows);
  return { value, text };
}

/** `countersign users factors` and `users sessions`. */
export function registerUserFactorCommands(
  command: ReturnType<typeof managementCommands>,
  terminal: Terminal,
  userId: (admin: AdminClient, named: string) => Promise<string>,
): void {
  command(
    "factors <user>",
    "list a user's passkeys and authenticator app, or remove one",
    async (admin, named: string, { removeApp, removePasskey, yes }: FactorOptions) => {
      const id = await userId(admin, named);
      if (removeApp) {
        await confirm(terminal, `Remove the authenticator app of ${printable(named)}, and all recovery codes?`, yes);
        await admin.operator.factors.removeApp.mutate({ userId: id });
      }
      if (removePasskey !== undefined) {
        await confirm(terminal, `Remove this passkey of ${printable(named)}?`, yes);
        await admin.operator.factors.removePasskey.mutate({ userId: id, id: removePasskey });
      }
      return factorsOf(admin, id);
    },
  )
    .option("--remove-app", "remove the authenticator app with its recovery codes; the user gets a mail")
    .option("--remove-passkey <id>", "remove a passkey; the user gets a mail")
    .option("-y, --yes", "do not ask first");
  command(
    "sessions <user>",
    "list where a user is signed in, or sign them out",
    async (admin, named: string, { end, yes }: SessionOptions) => {
      const id = await userId(admin, named);
      if (end !== undefined) {
        await confirm(terminal, end === "all" ? `Sign ${printable(named)} out everywhere?` : "End this session?", yes);
        await admin.operator.sessions.end.mutate({ userId: id, ...(end !== "all" && { id: end }) });
      }
      return sessionsOf(admin, id);
    },
  )
    .option("--end <session>", "end a session, or with `all` every session and refresh token")
    .option("-y, --yes", "do not ask first");
}
