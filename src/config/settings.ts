import { z } from "zod";
import { CLIENT_SETTINGS } from "./settings/clients.ts";
import { FEATURE_SETTINGS } from "./settings/features.ts";
import type { SettingMeta } from "./settings/forms.ts";
import { KEY_SETTINGS } from "./settings/keys.ts";
import { LIFETIME_SETTINGS } from "./settings/lifetimes.ts";
import { LISTENER_SETTINGS } from "./settings/listeners.ts";
import { MAIL_SETTINGS } from "./settings/mail.ts";
import { OPERATION_SETTINGS } from "./settings/operation.ts";
import { SPLIT_SETTINGS } from "./settings/split.ts";
import { STORAGE_SETTINGS } from "./settings/storage.ts";
import { USER_SETTINGS } from "./settings/users.ts";
import { WALLET_SETTINGS } from "./settings/wallets.ts";

/** Every setting there is. The loader, the list of known names and docs/settings.md are all read off this one table, in its order. */
export const SETTINGS = z.object({
  ...LISTENER_SETTINGS,
  ...STORAGE_SETTINGS,
  ...KEY_SETTINGS,
  ...SPLIT_SETTINGS,
  ...MAIL_SETTINGS,
  ...LIFETIME_SETTINGS,
  ...USER_SETTINGS,
  ...CLIENT_SETTINGS,
  ...FEATURE_SETTINGS,
  ...WALLET_SETTINGS,
  ...OPERATION_SETTINGS,
});

export type SettingName = keyof typeof SETTINGS.shape;
export type Settings = z.output<typeof SETTINGS>;

export const SETTING_NAMES = Object.keys(SETTINGS.shape) as SettingName[]; // zod keeps the order in which the members are written

export const metaOf = (name: SettingName): SettingMeta => SETTINGS.shape[name].meta() as unknown as SettingMeta; // each has one: see above
