import { metaOf, SETTING_NAMES, SETTINGS, type SettingName } from "./settings.ts";

/** The default of a setting as a text; undefined: none. */
export function defaultOf(name: SettingName): string | undefined {
  const parsed = SETTINGS.shape[name].safeParse(undefined);
  const value = parsed.success ? parsed.data : undefined;
  if (value === undefined) return undefined;
  return Array.isArray(value) ? value.join(" ") : String(value);
}

/**
 * All settings, as operators may see them (`ShownSettings` of the management API): what may hold a secret without its value. Pure.
 * @param texts the settings that the environment has
 */
export const shownSettings = (texts: ReadonlyMap<string, string>) =>
  SETTING_NAMES.map((name) => {
    const { group, description, unset = null, file = false } = metaOf(name);
    const text = texts.get(name);
    const origin: "environment" | "file" | "default" =
      text === undefined ? "default" : file && text.startsWith("@") ? "file" : "environment";
    const value = file ? null : (text ?? defaultOf(name) ?? null);
    return { name, group, description, origin, value, isSecret: file, unset };
  });
