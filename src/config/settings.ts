import { z } from "zod";
import { BRANDING_SETTINGS } from "./settings/branding.ts";
import { FEATURE_SETTINGS, OPERATION_SETTINGS, WALLET_SETTINGS } from "./settings/features-and-operation.ts";
import type { SettingMeta } from "./settings/forms.ts";
import { LISTENER_SETTINGS, SPLIT_SETTINGS } from "./settings/listeners.ts";
import { KEY_SETTINGS, MAIL_SETTINGS, STORAGE_SETTINGS } from "./settings/storage-keys-mail.ts";
import { CLIENT_SETTINGS, LIFETIME_SETTINGS, USER_SETTINGS } from "./settings/users-and-clients.ts";

/** Every setting. The loader, the check for unknown names and docs/settings.md read this one table, in its order. */
export const SETTINGS = z.object({
  ...LISTENER_SETTINGS,
  ...STORAGE_SETTINGS,
  ...KEY_SETTINGS,
  ...SPLIT_SETTINGS,
  ...MAIL_SETTINGS,
  ...BRANDING_SETTINGS,
  ...LIFETIME_SETTINGS,
  ...USER_SETTINGS,
  ...CLIENT_SETTINGS,
  ...FEATURE_SETTINGS,
  ...WALLET_SETTINGS,
  ...OPERATION_SETTINGS,
});

export type SettingName = keyof typeof SETTINGS.shape;
export type Settings = z.output<typeof SETTINGS>;

/** A name in camel case, without the prefix of its group. */
type Member<Name extends string> = Name extends `${infer Word}_${infer Rest}`
  ? `${Lowercase<Word>}${Capitalize<Member<Rest>>}`
  : Lowercase<Name>;
type Group<Prefix extends string> = {
  readonly [Name in SettingName as Name extends `${Prefix}_${infer Rest}` ? Member<Rest> : never]: Readonly<Settings[Name]>;
};

/** The settings with a prefix, by the rest of their names: `GRPC_TLS_CERT` is `tlsCert` of the group `GRPC`. */
export function groupOf<const Prefix extends string>(settings: Settings, prefix: Prefix): Group<Prefix> {
  const own = Object.entries(settings).filter(([name]) => name.startsWith(`${prefix}_`));
  const member = (name: string) =>
    name
      .slice(prefix.length + 1)
      .toLowerCase()
      .replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
  return Object.fromEntries(own.map(([name, value]) => [member(name), value])) as Group<Prefix>;
}

export const SETTING_NAMES = Object.keys(SETTINGS.shape) as SettingName[]; // zod keeps the order of the members

export const metaOf = (name: SettingName): SettingMeta => SETTINGS.shape[name].meta() as unknown as SettingMeta; // every setting above has one

export const CERTIFICATE_SETTINGS = [
  "GRPC_TLS_CERT",
  "GRPC_TLS_CLIENT_CA",
  "TOKEN_CORE_CA",
  "TOKEN_CORE_TLS_CERT",
  "WALLET_ISSUER_ROOTS",
  "WALLET_VERIFIER_CERT",
] as const satisfies readonly SettingName[];

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
