import axe from "axe-core";
import type { Page } from "playwright-core";
import { expect } from "vitest";

const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** The violations that axe finds, as text. The page's content security policy blocks axe, so the context has to bypass it. */
export async function axeFlaws(page: Page): Promise<string[]> {
  await page.addScriptTag({ content: axe.source });
  const run = (tags: string[]) => (globalThis as unknown as { axe: typeof axe }).axe.run({ runOnly: tags });
  const { violations, passes } = await page.evaluate(run, RULES);
  expect(passes.length).toBeGreaterThan(10);
  return violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${id} ${target.join(" ")}: ${failureSummary}`));
}
