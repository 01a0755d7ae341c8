import { expect, test } from "vitest";
import { brandFiles } from "../../../src/front/pages/brand-files.ts";

test("the path of an initial says nothing of the name but its first letter", () => {
  const pathOf = (name: string) => brandFiles({ name, accent: "#336699" } as Parameters<typeof brandFiles>[0]).logo?.path;
  expect(pathOf("Acme Bank")).toBe(pathOf("“aardvark”"));
  expect(pathOf("Acme Bank")).not.toBe(pathOf("Bank"));
});
