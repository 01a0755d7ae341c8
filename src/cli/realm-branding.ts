import type { AdminClient, ManagementInputs } from "@countersign/admin";
import type { Command } from "commander";
import { CommandFailure, contentOf, EXIT } from "./failure.ts";
import type { managementCommands, Output } from "./management-api.ts";
import { realmId } from "./scopes.ts";
import { record } from "./table.ts";

type Branding = ManagementInputs["operator"]["realms"]["setBranding"]["branding"];
type Options = Readonly<Partial<Record<"name" | "logo" | "accent" | "terms" | "privacy" | "support", string>>>;

/** Leaves a member to the deployment. */
const NONE = "none";

function brandingOf({ name, logo, accent, terms, privacy, support }: Options): Branding {
  const given = {
    name,
    logo: logo === undefined || logo === NONE ? logo : contentOf(logo).toString("base64"),
    accent,
    termsUrl: terms,
    privacyUrl: privacy,
    support,
  };
  const set = Object.entries(given).filter(([, value]) => value !== undefined);
  return Object.fromEntries(set.map(([member, value]) => [member, value === NONE ? null : value]));
}

export function registerRealmBranding(command: ReturnType<typeof managementCommands>): Command {
  const set = async (admin: AdminClient, named: string, options: Options): Promise<Output> => {
    const branding = brandingOf(options);
    if (Object.keys(branding).length === 0) throw new CommandFailure(EXIT.failed, "Name at least one option, such as --name.");
    const value = await admin.operator.realms.setBranding.mutate({ id: await realmId(admin, named), branding });
    const { name, logo, accent, termsUrl, privacyUrl, support } = value;
    return { value, text: record({ name, logo, accent, terms: termsUrl, privacy: privacyUrl, support }) };
  };
  return command("brand <realm>", "set the name, logo and colours on the pages of a realm's users; none: those of the settings", set)
    .option("--name <name>", "in pages and mails")
    .option("--logo <file>", "PNG, JPEG, WebP or SVG, at most 64 KiB")
    .option("--accent <colour>", "of buttons and links, as #rrggbb")
    .option("--terms <url>", "page with the terms of service")
    .option("--privacy <url>", "page with the privacy notice")
    .option("--support <address>", "e-mail address or page of the support");
}
