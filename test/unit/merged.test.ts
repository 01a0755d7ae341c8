import { expect, test } from "vitest";
import { merged } from "../../src/merged.ts";

test("a change leaves members that it does not name as they are, and null empties one", () => {
  const settings: { readonly name: string; readonly lifetime: number | null } = { name: "Old", lifetime: 60 };
  expect(merged(settings, { name: "New", lifetime: undefined })).toEqual({ name: "New", lifetime: 60 });
  expect(merged(settings, { lifetime: null })).toEqual({ name: "Old", lifetime: null });
});
