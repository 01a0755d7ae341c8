import type { AdminClient, ManagementInputs, ManagementOutputs } from "@countersign/admin";
import type { Command } from "commander";
import { CommandFailure, EXIT, EXIT_CODES } from "./failure.ts";
import { managing } from "./management-api.ts";
import { asJson, printable, table } from "./table.ts";
import { running, type Terminal } from "./terminal.ts";

type Scope = ManagementOutputs["operator"]["scopes"]["list"]["scopes"][number];
type NewWords = ManagementInputs["operator"]["scopes"]["set"];

interface Options {
  readonly json?: true;
  readonly realm?: string;
}

interface Words {
  readonly titleEn?: string;
  readonly titleDe?: string;
  readonly detailEn?: string;
  readonly detailDe?: string;
}

/** `countersign scopes …`, for operators. */
export function registerScopeCommands(program: Command, terminal: Terminal): void {
  const scopes = program
    .command("scopes")
    .description("descriptions of scopes on the consent page, for operators")
    .addHelpText("after", EXIT_CODES);
  const command = (name: string, description: string) =>
    scopes
      .command(name)
      .description(description)
      .option("--realm <realm>", "name or id of the realm; without it: the default realm")
      .option("--json", "as JSON");
  const write = (listed: readonly Scope[], shown: unknown, json: true | undefined): void => {
    const rows = listed.map(({ name, title, builtIn }) => [name, title.en, title.de, builtIn]);
    terminal.write(json ? asJson(shown) : table(["SCOPE", "ENGLISH", "GERMAN", "BUILT IN"], rows));
  };

  command("list", "list described scopes").action(
    running(terminal, async ({ realm, json }: Options) => {
      const admin = await managing(terminal);
      const { scopes: listed } = await admin.operator.scopes.list.query(await realmNamed(admin, realm));
      write(listed, listed, json);
    }),
  );
  command("set <scope>", "describe a scope in at least one language; replaces its description")
    .option("--title-en <words>", "what the user allows, up to 80 characters")
    .option("--title-de <words>", "the same in German")
    .option("--detail-en <words>", "one more sentence, up to 300 characters")
    .option("--detail-de <words>", "the same in German")
    .action(
      running(terminal, async (name: string, { realm, json, ...words }: Options & Words) => {
        const admin = await managing(terminal);
        const set = await admin.operator.scopes.set.mutate({ ...(await realmNamed(admin, realm)), name, ...wordings(words) });
        write([set], set, json);
      }),
    );
  command("remove <scope>", "remove a description: the built-in one is shown again, or the name of the scope").action(
    running(terminal, async (name: string, { realm, json }: Options) => {
      const admin = await managing(terminal);
      const removed = await admin.operator.scopes.remove.mutate({ ...(await realmNamed(admin, realm)), name });
      terminal.write(json ? asJson(removed) : `removed ${removed.name}`);
    }),
  );
}

const wordings = ({ titleEn, titleDe, detailEn, detailDe }: Words): Pick<NewWords, "title" | "detail"> => ({
  title: { ...(titleEn !== undefined && { en: titleEn }), ...(titleDe !== undefined && { de: titleDe }) },
  detail: { ...(detailEn !== undefined && { en: detailEn }), ...(detailDe !== undefined && { de: detailDe }) },
});

/** @throws {CommandFailure} for an unknown realm */
async function realmNamed(admin: AdminClient, realm: string | undefined): Promise<{ readonly realmId?: string }> {
  if (realm === undefined) return {};
  const { realms } = await admin.operator.realms.list.query();
  const found = realms.find(({ id, name }) => id === realm || name === realm);
  if (found === undefined) throw new CommandFailure(EXIT.notFound, `There is no realm named ${printable(realm)}.`);
  return { realmId: found.id };
}
