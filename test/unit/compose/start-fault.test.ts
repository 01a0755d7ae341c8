import { expect, test } from "vitest";
import { asStartFault } from "../../../src/compose/opening.ts";
import { Refusal } from "../../../src/errors.ts";

const refused = (code: string) =>
  new Refusal("temporarily_unavailable", "storage_unavailable", { cause: Object.assign(new Error("from the database"), { code }) });

test.for(["25006", "53100"])("a start whose disk becomes full (%s) names DATA_DIR", (code) => {
  expect(asStartFault(refused(code), { databaseUrl: undefined })).toMatchObject({ message: expect.stringMatching(/^DATA_DIR: .* 48 MiB/) });
});

test("any other error of a start on the embedded database stays as it is", () => {
  const other = refused("55P03");
  expect(asStartFault(other, { databaseUrl: undefined })).toBe(other);
});
