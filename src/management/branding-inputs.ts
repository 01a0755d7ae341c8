import { z } from "zod";
import { accentFault } from "../branding/colour.ts";
import { logoFault, MAX_LOGO } from "../branding/logo.ts";
import { storable } from "./inputs.ts";
import { line } from "./scope-inputs.ts";

const page = storable(z.url({ protocol: /^https?$/, error: "must be a URL" }).max(2000));

const accent = z
  .string()
  .toLowerCase()
  .check(({ value, issues }) => {
    const wrong = accentFault(value);
    if (wrong !== undefined) issues.push({ code: "custom", message: `${wrong.fault}; ${wrong.remedy}`, input: value });
  });

/** An image in base64. Its type is that of its bytes. */
const logo = z
  .base64()
  .max(Math.ceil(MAX_LOGO / 3) * 4 + 4)
  .check(({ value, issues }) => {
    const wrong = logoFault(Buffer.from(value, "base64"));
    if (wrong !== undefined) issues.push({ code: "custom", message: `${wrong.fault}; ${wrong.remedy}`, input: value });
  });

/** What a realm has of its own. Members that are left out stay unchanged; null leaves them to the deployment. */
export const BrandingInput = z
  .strictObject({
    name: line(80).nullable(),
    logo: logo.nullable(),
    accent: accent.nullable(),
    termsUrl: page.nullable(),
    privacyUrl: page.nullable(),
    support: z.union([z.email(), page], { error: "must be an e-mail address or a URL" }).nullable(),
  })
  .partial();

export type BrandingChange = z.output<typeof BrandingInput>;
