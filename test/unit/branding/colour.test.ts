import fc from "fast-check";
import { expect, test } from "vitest";
import { accentFault, accentStyle, contrast } from "../../../src/branding/colour.ts";

test.for([
  ["#000000", "#ffffff", 21],
  ["#777777", "#ffffff", 4.48],
  ["#2b50c8", "#2b50c8", 1],
] as const)("%s on %s has a contrast of %d", ([one, other, ratio]) => {
  expect(contrast(one, other)).toBeCloseTo(ratio, 1);
});

test.for(["#2b50c8", "#b3005e", "#00695c", "#000000"])("%s is an accent", (colour) => {
  expect(accentFault(colour)).toBeUndefined();
});

test.for(["blue", "#12345", "#1234567", "2b50c8", "#2b50cg", "", "red;}"])("%s is no colour", (colour) => {
  expect(accentFault(colour)?.fault).toBe("is no colour");
});

const aColour = fc.integer({ min: 0, max: 0xffffff }).map((value) => `#${value.toString(16).padStart(6, "0")}`);

test("a colour with too little contrast is refused with its contrast and a shade that passes", () => {
  expect(accentFault("#f5a623")?.fault).toBe("has a contrast of 1.8 to 1 on light pages, where text needs 4.5 to 1");
  fc.assert(
    fc.property(aColour, (colour) => {
      const remedy = accentFault(colour)?.remedy;
      const shade = /#[0-9a-f]{6}/.exec(remedy ?? "")?.[0];
      expect(remedy === undefined || (shade !== undefined && accentFault(shade) === undefined)).toBe(true);
    }),
  );
});

/** The colours of the light and of the dark rules. */
const coloursOf = (style: string) =>
  style
    .split("@media")
    .map((part) => Object.fromEntries([...part.matchAll(/--([a-z-]+):(#[0-9a-f]{6})/g)].map(([, name, value]) => [name, value])));

test("every accent has enough contrast in light and dark pages, as text, under the pointer, and under the text of buttons", () => {
  fc.assert(
    fc.property(aColour, (colour) => {
      if (accentFault(colour) !== undefined) return;
      const [light, dark] = coloursOf(accentStyle(colour));
      const grounds = [
        [light, ["#ffffff", "#f3f4f8"]],
        [dark, ["#181c25", "#0f1218"]],
      ] as const;
      for (const [colours = {}, pages] of grounds) {
        const { accent = "", "accent-strong": strong = "", "accent-soft": soft = "", "on-accent": on = "" } = colours;
        for (const page of [...pages, soft, on]) expect(contrast(accent, page)).toBeGreaterThanOrEqual(4.5);
        for (const page of [soft, on]) expect(contrast(strong, page)).toBeGreaterThanOrEqual(4.5);
      }
    }),
  );
});
