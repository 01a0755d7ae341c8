import type { Page } from "playwright-core";
import { axeFlaws, COLOUR_RULES, LAYOUT_RULES } from "./axe.ts";
import { flawsOf } from "./chromium.ts";

/** A phone. */
export const PHONE = { width: 390, height: 844 } as const;
/** A phone, the narrowest window (1280 pixels at 400 % zoom), and a desktop. */
const VIEWPORTS = [PHONE, { width: 320, height: 640 }, { width: 1280, height: 800 }] as const;
const SCHEMES = ["light", "dark"] as const;

/** Whether the buttons of a decision are in the window without scrolling. Runs in the page. */
function buttonsInView(): boolean {
  const boxes = [...document.querySelectorAll(".decide button")].map((button) => button.getBoundingClientRect());
  return boxes.every(({ top, bottom }) => top >= 0 && bottom <= window.innerHeight);
}

/** Which elements are rendered, in the order of the document. Runs in the page. */
const rendered = (): string => [...document.querySelectorAll("body *")].map((element) => Number(element.checkVisibility())).join("");

/**
 * The flaws of a page in every window and colour scheme, by our own checks and by axe. The page is loaded once. The dark scheme differs in
 * nothing but colours, and a window that renders the same elements as an earlier one in nothing but layout: axe judges only these there.
 * @param seen is called in each view
 */
export async function flawsInEveryView(
  page: Page,
  seen: (scheme: string, width: number) => Promise<void> = async () => undefined,
): Promise<readonly string[]> {
  const flaws: string[] = [];
  const judged = new Set<string>();
  const rulesFor = async (colorScheme: string) => {
    if (colorScheme === "dark") return COLOUR_RULES;
    const elements = await page.evaluate(rendered);
    return judged.size === judged.add(elements).size ? LAYOUT_RULES : undefined;
  };
  for (const colorScheme of SCHEMES) {
    await page.emulateMedia({ colorScheme });
    for (const viewport of VIEWPORTS) {
      await page.setViewportSize(viewport);
      await seen(colorScheme, viewport.width);
      const found = [...(await flawsOf(page)), ...(await axeFlaws(page, await rulesFor(colorScheme)))];
      if (viewport === PHONE && !(await page.evaluate(buttonsInView))) found.push("the buttons are out of view");
      flaws.push(...found.map((flaw) => `${colorScheme}, ${viewport.width}: ${flaw}`));
    }
  }
  await page.setViewportSize(PHONE);
  return flaws;
}
