import type { ManagementInputs, ManagementOutputs } from "@countersign/admin";
import { managing } from "./management-api.ts";
import { asJson, printable, table } from "./table.ts";
import type { Terminal } from "./terminal.ts";

type Shown = ManagementOutputs["operator"]["previewProvision"][number];
type Difference = Omit<Shown, "members"> & { readonly members: readonly Shown["members"][number][] };

const SIGNS = { created: "+", changed: "~", removed: "-" } as const;

function memberLine({ member, before, after }: Difference["members"][number]): string {
  const isShown = before !== undefined && after !== undefined;
  return printable(`    ${member}: ${isShown ? `${JSON.stringify(before)} -> ${JSON.stringify(after)}` : "replaced"}`);
}

/** What a provisioning file would change, one line for each entry and each of its members. */
export function differencesText(differences: readonly Difference[]): string {
  if (differences.length === 0) return "The file changes nothing.";
  const lines = differences.flatMap(({ change, section, entry, members }) => [
    printable(`${SIGNS[change]} ${section} ${entry}`),
    ...members.map(memberLine),
  ]);
  return [...lines, "Nothing was written: this was a dry run."].join("\n");
}

type Options = { readonly dryRun?: true; readonly json?: true };

/** `countersign provision FILE --server` on a running server, as an operator. @throws {CommandFailure} */
export async function provisionThroughServer(
  file: ManagementInputs["operator"]["provision"],
  terminal: Terminal,
  { dryRun, json }: Options,
): Promise<void> {
  const { operator } = await managing(terminal);
  if (dryRun) {
    const differences = await operator.previewProvision.mutate(file);
    return terminal.write(json ? asJson(differences) : differencesText(differences));
  }
  const done = await operator.provision.mutate(file);
  const sections = Object.entries(done).map(([section, counts]) => ({ section, ...counts }));
  const columns = { "": "section", CREATED: "created", CHANGED: "changed", UNCHANGED: "unchanged" } as const;
  terminal.write(json ? asJson(done) : table(sections, columns));
}
