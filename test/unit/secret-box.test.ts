import { expect, test } from "vitest";
import { secretBox } from "../../src/secret-box.ts";
import { A_SECRET_BOX } from "../support/secret-box.ts";

test("opens what it sealed, at the same place only", () => {
  const sealed = A_SECRET_BOX.seal("secret", "row 1");
  expect(A_SECRET_BOX.open(sealed, "row 1")).toBe("secret");
  expect(() => A_SECRET_BOX.open(sealed, "row 2")).toThrow();
  expect(A_SECRET_BOX.seal("secret", "row 1")).not.toBe(sealed);
});

test("says so when the key is another one, or missing", () => {
  const sealed = A_SECRET_BOX.seal("secret", "row 1");
  expect(() => secretBox(() => Buffer.alloc(32, 8).toString("base64")).open(sealed, "row 1")).toThrow("another VAULT_KEY");
  expect(() => secretBox(() => undefined).seal("secret", "row 1")).toThrow("vault_key_missing");
});

test("opens what an earlier or upcoming key has sealed, and seals by the present one", () => {
  const [older, newer] = [8, 9].map((fill) => Buffer.alloc(32, fill).toString("base64")) as [string, string];
  const sealed = secretBox(() => older).seal("secret", "row 1");
  const box = secretBox(() => newer, [older]);
  expect(box.open(sealed, "row 1")).toBe("secret");
  expect(() => box.open(sealed, "row 2")).toThrow();
  const again = box.seal("secret", "row 1");
  expect([again.startsWith(box.prefix()), sealed.startsWith(box.prefix())]).toEqual([true, false]);
  expect(secretBox(() => older, [newer]).open(again, "row 1")).toBe("secret");
});
