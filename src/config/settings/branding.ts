import { readFileSync } from "node:fs";
import { z } from "zod";
import { Accent } from "../../branding/colour.ts";
import { logoFault } from "../../branding/logo.ts";
import { says, settingsOf, text, url } from "./forms.ts";

const branding = settingsOf("Branding");

/** One line that users can read. */
const isLine = (value: string) =>
  value.length <= 80 && !/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}]/u.test(value);

/** The image in a file, in base64. */
const logo = () =>
  z.string().transform((path, { addIssue }): string => {
    const refuse = (fault: string, remedy: string) => {
      addIssue({ code: "custom", message: says(fault, remedy) });
      return z.NEVER;
    };
    let bytes: Uint8Array;
    try {
      bytes = readFileSync(path);
    } catch {
      return refuse("names a file that cannot be read", "give the path of a readable file");
    }
    const wrong = logoFault(bytes);
    return wrong === undefined ? Buffer.from(bytes).toString("base64") : refuse(wrong.fault, wrong.remedy);
  });

const page = () => url(["https", "http"]);

const SUPPORT = /^[^\s@/]+@[^\s@/]+$/;

export const BRANDING_SETTINGS = {
  BRAND_NAME: branding(
    text(isLine, "is not one line of at most 80 characters", "give the name of your product or company").optional(),
    "Name in the pages and mails. A realm can have its own branding: docs/branding.md.",
    { unset: "`Countersign`" },
  ),
  BRAND_LOGO: branding(
    logo().optional(),
    "Path of an image file for the pages: PNG, JPEG, WebP, or an SVG that does nothing but draw; at most 64 KiB.",
  ),
  BRAND_ACCENT: branding(
    Accent.optional(),
    "Colour of buttons and links, as `#rrggbb`. It needs a contrast of 4.5 to 1 on light pages; the one for dark pages is made from it.",
  ),
  BRAND_TERMS_URL: branding(page().optional(), "Page with the terms of service, linked from pages and mails."),
  BRAND_PRIVACY_URL: branding(page().optional(), "Page with the privacy notice, linked from pages and mails."),
  BRAND_SUPPORT: branding(
    text(
      (value) => SUPPORT.test(value) || page().safeParse(value).success,
      "is neither an e-mail address nor a URL",
      "give one of these",
    ).optional(),
    "E-mail address or page of the support, named in pages and mails.",
  ),
};
