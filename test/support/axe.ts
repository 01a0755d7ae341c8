import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import type axe from "axe-core";
import type { RunOnly } from "axe-core";
import type { Page } from "playwright-core";
import { expect } from "vitest";
import { loadOnce } from "../../src/load-once.ts";

const ALL: RunOnly = { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] };
/** The rules whose outcome depends on colours. */
export const COLOUR_RULES: RunOnly = { type: "rule", values: ["color-contrast", "link-in-text-block"] };
/** The rules whose outcome depends on sizes and positions, or on colours, where the same elements are rendered. */
export const LAYOUT_RULES: RunOnly = {
  type: "rule",
  values: ["color-contrast", "link-in-text-block", "scrollable-region-focusable", "target-size"],
};

type WithAxe = { axe?: typeof axe };

/** The URL of the script, from which the browser takes it compiled for the second document on: sent with each, it takes longer than its work. */
const scriptUrl = loadOnce(async () => {
  const script = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"));
  const headers = { "content-type": "text/javascript", "cache-control": "max-age=86400, immutable" };
  const server = createServer((_, response) => response.writeHead(200, headers).end(script));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  server.unref();
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/axe.js`;
});

/**
 * The violations that axe finds, as text. The page's content security policy blocks axe, so the context has to bypass it. A document gets
 * the script once.
 */
export async function axeFlaws(page: Page, rules = ALL): Promise<string[]> {
  if (!(await page.evaluate(() => (globalThis as WithAxe).axe !== undefined))) await page.addScriptTag({ url: await scriptUrl() });
  // What passes is counted in the page: to return it takes longer than to find it.
  const run = async (runOnly: RunOnly) => {
    const found = await (globalThis as WithAxe).axe?.run({ runOnly, resultTypes: ["violations"] });
    return { violations: found?.violations ?? [], passed: found?.passes.length ?? 0 };
  };
  const { violations, passed } = await page.evaluate(run, rules);
  expect(passed).toBeGreaterThan(rules === ALL ? 10 : 0);
  return violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${id} ${target.join(" ")}: ${failureSummary}`));
}
