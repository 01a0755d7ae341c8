import { expect, test } from "vitest";
import { printPage, siteOf } from "../../../src/front/pages/views/layout.ts";
import type { ApiDescription } from "../../../src/front/system/api-description.ts";
import { referenceView } from "../../../src/front/system/reference.ts";
import { TEXTS } from "../../../src/texts/languages.ts";
import { aBrandings } from "../../support/builders.ts";

const DESCRIPTION: ApiDescription = {
  info: { version: "1.0.0", description: "Answers `HEAD` too." },
  paths: {
    "/health": { get: { tags: ["System"], responses: { "200": { description: "It <runs>." } } } },
    "/oauth/token": {
      post: {
        tags: ["OAuth"],
        security: [{ clientBasic: [] }, {}],
        requestBody: { content: { "application/x-www-form-urlencoded": { schema: { $ref: "#/components/schemas/TokenRequest" } } } },
        responses: { "200": { description: "The tokens.", content: { "application/json": { schema: { type: "object" } } } } },
      },
    },
  },
  components: {
    schemas: {
      TokenRequest: {
        type: "object",
        required: ["grant_type"],
        properties: {
          grant_type: { enum: ["refresh_token"] },
          resource: { type: "array", items: { type: "string", format: "uri" }, description: "May be repeated." },
          choice: { anyOf: [{ $ref: "#/components/schemas/TokenRequest" }, { type: ["string", "null"] }] },
        },
      },
    },
  },
};

test("the reference shows OAuth first, how to authenticate, members of requests, and types in words", () => {
  const site = siteOf("https://id.example.test", aBrandings());
  const page = printPage({ site, language: "en", texts: TEXTS.en }, referenceView(site, DESCRIPTION, "1.2.3"));
  const text = page.replaceAll(/<[^>]+>/g, "");
  expect(page.indexOf('id="oauth"')).toBeLessThan(page.indexOf('id="system"'));
  expect(text).toContain("Authentication, optional: Client id and secret (HTTP Basic).");
  expect(text).toContain("Answers HEAD too.");
  expect(text).toContain("It &lt;runs&gt;.");
  expect(page).toContain("<dt><code>grant_type</code></dt>\n<dd><code>&quot;refresh_token&quot;</code>, required</dd>");
  expect(text).toContain("list of string (uri). May be repeated.");
  expect(page).toContain('<a href="#schema-TokenRequest">TokenRequest</a> or string or null');
});
