import type { ManagementInputs, ManagementOutputs } from "@countersign/admin";
import type { Command } from "commander";
import { LIMIT, listed, type Most, managementCommands, type Output, Yes } from "./management-api.ts";
import { REALM, realmNamed } from "./realms.ts";
import { table } from "./table.ts";
import type { Terminal } from "./terminal.ts";

type Scope = ManagementOutputs["operator"]["scopes"]["list"]["scopes"][number];
type NewWords = ManagementInputs["operator"]["scopes"]["set"];

type Options = { readonly realm?: string };

type Words = { readonly titleEn?: string; readonly titleDe?: string; readonly detailEn?: string; readonly detailDe?: string };

export function registerScopeCommands(program: Command, terminal: Terminal): void {
  const command = managementCommands(program, terminal, "scopes", "descriptions of scopes on the consent page, for operators");
  const output = (listed: readonly Scope[], value: unknown): Output => ({
    value,
    text: () => table(listed, { SCOPE: "name", ENGLISH: ({ title }) => title.en, GERMAN: ({ title }) => title.de, "BUILT IN": "builtIn" }),
  });

  command("list", "list described scopes", async (admin, { realm, limit }: Options & Most) => {
    const inside = await realmNamed(admin, realm);
    const { items, total } = await listed("scopes", (at) => admin.operator.scopes.list.query({ ...inside, ...at }), limit);
    return { ...output(items, items), total };
  })
    .addOption(REALM)
    .addOption(LIMIT);
  command(
    "set <scope>",
    "describe a scope in at least one language; replaces its description",
    async (admin, name: string, { realm, ...words }: Options & Words) => {
      const set = await admin.operator.scopes.set.mutate({ ...(await realmNamed(admin, realm)), name, ...wordings(words) });
      return output([set], set);
    },
  )
    .addOption(REALM)
    .option("--title-en <words>", "what the user allows, up to 80 characters")
    .option("--title-de <words>", "the same in German")
    .option("--detail-en <words>", "one more sentence, up to 300 characters")
    .option("--detail-de <words>", "the same in German");
  command(
    "remove <scope>",
    "remove a description: the built-in one is shown again, or the name of the scope",
    async (admin, name: string, { realm }: Options) => {
      const removed = await admin.operator.scopes.remove.mutate({ ...(await realmNamed(admin, realm)), name });
      return { value: removed, text: `removed ${removed.name}` };
    },
  )
    .addOption(REALM)
    .addOption(new Yes("The words of this scope are deleted in every language."));
}

const wordings = ({ titleEn, titleDe, detailEn, detailDe }: Words): Pick<NewWords, "title" | "detail"> => ({
  title: { ...(titleEn !== undefined && { en: titleEn }), ...(titleDe !== undefined && { de: titleDe }) },
  detail: { ...(detailEn !== undefined && { en: detailEn }), ...(detailDe !== undefined && { de: detailDe }) },
});
