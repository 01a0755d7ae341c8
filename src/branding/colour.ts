import { z } from "zod";

/** A colour as #rrggbb. */
const COLOUR = /^#[0-9a-f]{6}$/i;

type Rgb = readonly [red: number, green: number, blue: number];

const rgb = (colour: string): Rgb => [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16)) as unknown as Rgb; // three parts

/** @param share of the second colour, from 0 to 1 */
const mix = (one: string, other: string, share: number): string => {
  const [from, to] = [rgb(one), rgb(other)];
  const parts = from.map((part, index) => Math.round(part + ((to[index] ?? 0) - part) * share));
  return `#${parts.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
};

/** @see WCAG 2.2, relative luminance */
function luminance(colour: string): number {
  const [red, green, blue] = rgb(colour).map((part) =>
    part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4,
  );
  return 0.2126 * (red ?? 0) + 0.7152 * (green ?? 0) + 0.0722 * (blue ?? 0);
}

/** From 1 to 21. @see WCAG 2.2, contrast ratio */
export function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

const WHITE = "#ffffff";
const BLACK = "#000000";
/** The background of cards in dark pages (assets/style/base.css). */
const DARK_CARD = "#181c25";
/** What text needs. @see WCAG 2.2, 1.4.3 */
const ENOUGH = 4.5;

const soft = (colour: string): string => mix(colour, WHITE, 0.9);
const softInDark = (colour: string): string => mix(colour, DARK_CARD, 0.8);

/** The contrast of a colour as text on the lightest background that is made from it; with white, as on buttons, it is higher. */
const contrastOfText = (colour: string): number => contrast(colour, soft(colour));

/** The first of ever stronger mixtures that passes. */
function mixedUntil(colour: string, towards: string, passes: (candidate: string) => boolean): string {
  for (let share = 0; share < 1; share += 0.02) {
    const candidate = mix(colour, towards, share);
    if (passes(candidate)) return candidate;
  }
  return towards;
}

/** Why a colour cannot be the accent of pages, with the remedy; undefined for one that can. Pure. */
export function accentFault(colour: string): { readonly fault: string; readonly remedy: string } | undefined {
  if (!COLOUR.test(colour)) return { fault: "is no colour", remedy: "give # and six hexadecimal digits, such as #2b50c8" };
  const found = contrastOfText(colour);
  if (found >= ENOUGH) return undefined;
  const darker = mixedUntil(colour, BLACK, (candidate) => contrastOfText(candidate) >= ENOUGH);
  return {
    fault: `has a contrast of ${(Math.floor(found * 10) / 10).toFixed(1)} to 1 on light pages, where text needs ${ENOUGH} to 1`,
    remedy: `a darker shade such as ${darker} has enough`,
  };
}

/** An accent as settings and operators write it. */
export const Accent = z
  .string()
  .toLowerCase()
  .check(({ value, issues }) => {
    const wrong = accentFault(value);
    if (wrong !== undefined) issues.push({ code: "custom", message: `${wrong.fault}; ${wrong.remedy}`, input: value });
  });

/** The rules that give pages an accent, in light and dark. @param colour without accentFault */
export function accentStyle(colour: string): string {
  const light = {
    accent: colour,
    "accent-strong": mix(colour, BLACK, 0.2),
    "accent-soft": soft(colour),
    "on-accent": WHITE,
    focus: colour,
  };
  const pale = mixedUntil(colour, WHITE, (candidate) => contrast(candidate, softInDark(candidate)) >= ENOUGH + 0.5);
  const dark = {
    accent: pale,
    "accent-strong": mix(pale, WHITE, 0.3),
    "accent-soft": softInDark(pale),
    "on-accent": mix(colour, BLACK, 0.85),
    focus: mix(pale, WHITE, 0.3),
  };
  const rules = (colours: Readonly<Record<string, string>>) =>
    `:root{${Object.entries(colours)
      .map(([name, value]) => `--${name}:${value}`)
      .join(";")}}`;
  return `${rules(light)}\n@media (prefers-color-scheme:dark){${rules(dark)}}\n`;
}
