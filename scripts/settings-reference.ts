import { writeFileSync } from "node:fs";
import { defaultOf, metaOf, SETTING_NAMES, type SettingName } from "../src/config/settings.ts";

const HEAD = `# Settings

All settings are environment variables, read once at start-up. An empty value counts as unset. A setting that is malformed or in
contradiction to another, or a name that looks like a misspelt setting, stops the start, with one line for each fault; no line repeats a value that may be secret.

Where a row says \`@path\`, the value may be \`@\` and the path of a file with the content. Prefer that for secrets: others on the machine may be
able to read the environment of a process. A PEM text in the environment may write its line ends as \`\\n\`.

A setting of true or false also accepts \`1\`, \`yes\`, \`on\`, \`y\` and \`enabled\`, or \`0\`, \`no\`, \`off\`, \`n\` and \`disabled\`, in upper or lower case.

This file is written by \`npm run generate:docs\` from the schema in \`src/config/settings.ts\`.
`;

function unsetText(name: SettingName): string {
  const { unset } = metaOf(name);
  if (unset !== undefined) return unset;
  const value = defaultOf(name);
  if (value === undefined) return "none";
  return value === "" ? "empty" : `\`${value}\``;
}

function row(name: SettingName): string {
  const { description, file, needs } = metaOf(name);
  const more = [...(file ? ["Also `@path`."] : []), ...(needs === undefined ? [] : [`No effect without ${needs}.`])];
  return `| \`${name}\` | ${unsetText(name)} | ${[description, ...more].join(" ")} |`;
}

/** docs/settings.md as it must be. */
export function settingsReference(): string {
  const groups = [...new Set(SETTING_NAMES.map((name) => metaOf(name).group))];
  const sections = groups.map((group) => {
    const rows = SETTING_NAMES.filter((name) => metaOf(name).group === group).map(row);
    return `## ${group}\n\n| setting | when unset | meaning |\n| --- | --- | --- |\n${rows.join("\n")}\n`;
  });
  return [HEAD, ...sections].join("\n");
}

if (import.meta.main) writeFileSync(new URL("../docs/settings.md", import.meta.url), settingsReference());
