import { expect, test } from "vitest";
import { appCard } from "../../../src/front/pages/security/page.ts";
import { type Markup, siteOf } from "../../../src/front/pages/views/layout.ts";
import { TEXTS } from "../../../src/texts/languages.ts";

const site = siteOf("https://id.example.test", { of: () => ({}), all: () => [], current: async () => [] });

test.for([
  ["a server with a key for secrets offers to set up an app", true, null, "/app/begin"],
  ["one without does not, for that would fail", false, null, undefined],
  ["one that has lost its key still turns an app off", false, 1_700_000_000, "/app/remove"],
] as const)("%s", ([, apps, appAddedAt, form]) => {
  const card = appCard({ site, language: "en", texts: TEXTS.en, token: "t" }, apps, { appAddedAt, recoveryCodes: 3 });
  if (form === undefined) expect(card).toBeUndefined();
  else expect((card as Markup).text).toContain(`action="/account/security${form}"`);
  if (!apps && form !== undefined) expect((card as Markup).text).not.toContain("set it up again");
});
