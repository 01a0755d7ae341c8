import type { AdminClient, ManagementOutputs } from "@countersign/admin";
import { InvalidArgumentError } from "commander";
import { PartlyDone } from "./failure.ts";
import { everyPage, type managementCommands, type Output } from "./management-api.ts";
import { printable, record, table, when } from "./table.ts";
import type { Terminal } from "./terminal.ts";

type Operator = { readonly operator?: true };
type Versions = ManagementOutputs["operator"]["clients"]["document"]["versions"];

const DAY = 86_400_000;
/** Clients that one call deletes (docs/protocol.md#deleting-many-clients). */
const MANY = 100;

const days = (value: string): number => {
  if (!/^[1-9]\d{0,3}$/.test(value)) throw new InvalidArgumentError("must be a number of days, at least 1");
  return Number(value);
};

/** `countersign clients document`, `consents` and `delete-unused`. @param idOf finds a client by id or client_id */
export function registerClientDetails(
  command: ReturnType<typeof managementCommands>,
  terminal: Terminal,
  idOf: (admin: AdminClient, named: string, options: Operator) => Promise<string>,
) {
  command(
    "document <client_id>",
    "for operators: the metadata document of a client, and what changed in it",
    async ({ operator }, clientId: string) => {
      const { versions } = await operator.clients.document.query({ clientId });
      return { value: versions, text: documentText(versions) };
    },
  );
  command(
    "consents <client>",
    "how many users allowed something to a client; with --operator who",
    async (admin, named: string, options: Operator) =>
      options.operator ? whoAllowed(admin, named) : counted(admin, await idOf(admin, named, options)),
  ).option("--operator", "as an operator: any client, named by its client_id");
  return command(
    "delete-unused",
    "for operators: delete clients that registered themselves and were not used for so many days",
    async (admin, given: number) => deleteUnused(admin, terminal.clock() * 1000 - given * DAY),
  ).argument("<days>", "days without a token", days);
}

function documentText(versions: Versions): string {
  const [newest] = versions;
  if (newest === undefined) return "";
  const { digest, size, from, lastFetchedAt } = newest;
  const rows = versions.map(({ version, from: since, changes }) => [
    version,
    when(since),
    changes.map(({ member }) => printable(member)).join(" "),
  ]);
  const head = record({ "sha-256": digest, bytes: size, since: when(from), "last fetched": when(lastFetchedAt) });
  return `${head}\n\n${table(["VERSION", "FROM", "CHANGED MEMBERS"], rows)}\n\n${printable(newest.document)}`;
}

async function counted(admin: AdminClient, id: string): Promise<Output> {
  const { total, totalIsExact, usedLately } = await admin.clients.consents.query({ id });
  const value = { total, totalIsExact, usedLately };
  return { value, text: record({ consents: totalIsExact ? total : `more than ${total}`, "used within 30 days": usedLately }) };
}

async function whoAllowed({ operator }: AdminClient, clientId: string): Promise<Output> {
  const consents = await everyPage("consents", (at) => operator.consents.ofClient.query({ clientId, ...at }));
  const rows = consents.map(({ id, email, createdAt, lastUsedAt, scopes }) => [id, email, when(createdAt), when(lastUsedAt), scopes]);
  const whenEmpty = "No user allowed anything to this client.";
  return { value: consents, text: table(["ID", "USER", "SINCE", "LAST USED", "SCOPES"], rows), whenEmpty };
}

async function deleteUnused({ operator: { clients } }: AdminClient, unusedSince: number): Promise<Output> {
  const found = await everyPage("clients", (at) => clients.list.query({ origin: "dynamic", unusedSince, ...at }));
  const deleted: string[] = [];
  const refused: ManagementOutputs["operator"]["clients"]["deleteMany"]["refused"][number][] = [];
  for (let at = 0; at < found.length; at += MANY) {
    const ids = found.slice(at, at + MANY).map(({ id }) => id);
    const answer = await clients.deleteMany.mutate({ ids, unusedSince }).catch((error: unknown) => {
      const done = `At least ${deleted.length} of ${found.length} clients were deleted. Run the command again to delete the others.`;
      throw deleted.length === 0 ? error : new PartlyDone(done, error);
    });
    deleted.push(...answer.deleted);
    refused.push(...answer.refused);
  }
  const lines = refused.map(({ id, message }) => `kept ${id}: ${printable(message)}`);
  return { value: { deleted, refused }, text: [`deleted: ${deleted.length}`, ...lines].join("\n") };
}
