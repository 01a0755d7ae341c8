import { expect, test } from "vitest";
import { permissionGroups, withoutLasting } from "../../../src/front/pages/consent/view.ts";

const record = (resource: string, ...scopes: string[]) => ({ resource, scopes: scopes.map((name) => ({ name, title: {}, detail: {} })) });
const NOTES = "https://notes.example.test";
const FILES = "https://files.example.test";

test.for([
  ["one resource: one group", [NOTES], [record(NOTES, "notes:read")], [{ resource: undefined, scopes: ["openid", "notes:read"] }]],
  ["no resource: one group", [], [], [{ resource: undefined, scopes: ["openid", "notes:read"] }]],
  [
    "several resources: those of no record first",
    [FILES, NOTES],
    [record(NOTES, "notes:read"), record(FILES)],
    [
      { resource: undefined, scopes: ["openid"] },
      { resource: NOTES, scopes: ["notes:read"] },
    ],
  ],
  ["several resources without records: one group", [FILES, NOTES], [], [{ resource: undefined, scopes: ["openid", "notes:read"] }]],
] as const)("%s", ([, resources, records, groups]) => {
  expect(permissionGroups(["openid", "notes:read"], resources, records)).toEqual(groups);
});

test("lasting access is left out, unless it is all that is asked for", () => {
  expect(withoutLasting(["openid", "offline_access"])).toEqual(["openid"]);
  expect(withoutLasting(["offline_access"])).toEqual(["offline_access"]);
});
