import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { DEVICE_TTL } from "../../src/accounts/caller.ts";
import { rememberChosen, rememberRequested } from "../../src/front/http/caller.ts";
import { cookiesOf, markOf } from "../../src/front/http/cookies.ts";
import type { FrontContext } from "../../src/front/http/routes.ts";
import { PENDING_ACTION_TTL } from "../../src/front/oauth/pending-request.ts";
import { entities } from "../../src/store/tables/entities.ts";

const document = readFileSync(join(import.meta.dirname, "../../docs/privacy.md"), "utf8");
const [, stored = ""] = /## What is stored\n([\s\S]*?)\n## /.exec(document) ?? [];
const words = (text = "") => [...text.matchAll(/`(\w+)`/g)].map(([, word = ""]) => word);
/** Tables with personal data and their columns, one entry for each row of the document. */
const listed = [...stored.matchAll(/^\| (`.*?) \| (.*?) \|/gm)].map(([, tables, columns]) => ({
  tables: words(tables),
  columns: words(columns),
}));
const without = words(/^No personal data:([\s\S]*?)\./m.exec(stored)?.[1]);
const columnsOf = (table: string) =>
  Object.keys(entities.get(table)?.meta.properties ?? {}).map((member) =>
    member.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  );

/** Names of columns that say that their values are about a user. */
const PERSONAL = /^(user_id|owner_id|inviter_id|actor_id|.*email.*|address|first_name|last_name|recipient|subject|browser|system)$/;

test("docs/privacy.md names every table once", () => {
  expect([...listed.flatMap(({ tables }) => tables), ...without].toSorted()).toEqual([...entities.keys()].toSorted());
});

test("docs/privacy.md names columns that exist", () => {
  for (const { tables, columns } of listed)
    expect([tables, columns.filter((column) => !tables.flatMap(columnsOf).includes(column))]).toEqual([tables, []]);
});

test("docs/privacy.md names every column that is about a user", () => {
  const personal = (tables: readonly string[]) => [...new Set(tables.flatMap(columnsOf).filter((column) => PERSONAL.test(column)))];
  for (const { tables, columns } of [...listed, { tables: without, columns: [] }])
    expect([tables, personal(tables).filter((column) => !columns.includes(column))]).toEqual([tables, []]);
});

test("docs/privacy.md names every cookie with its lifetime", () => {
  const set: string[] = [];
  const ctx = { req: { headers: {} }, append: (_: string, cookie: string) => set.push(cookie) } as unknown as FrontContext;
  const cookies = cookiesOf("http://localhost", randomBytes);
  const sessionTtl = 123;
  cookies.startSession(ctx, "secret", sessionTtl);
  const mark = markOf(cookies.browser(ctx));
  cookies.startPendingAction(ctx, "members", PENDING_ACTION_TTL);
  cookies.startDevice(ctx, "secret", DEVICE_TTL);
  rememberChosen(ctx, "en", cookies);
  rememberRequested(ctx, "en", cookies);
  const lifetimes = {
    [sessionTtl]: "`SESSION_TTL`",
    3600: "1 hour",
    86400: "1 day",
    [90 * 86_400]: "90 days",
    [365 * 86_400]: "1 year",
  } as Record<string, string>;
  const made = set.map((cookie) => {
    const [, name, seconds = ""] = /^([\w-]+)=.*; Max-Age=(\d+)$/.exec(cookie) ?? [];
    return [name?.replace(mark, "*"), lifetimes[seconds]];
  });
  const named = [...document.matchAll(/^\| `(countersign[\w*-]*)` \| .* \| (.*) \|$/gm)].map(([, name, lifetime]) => [name, lifetime]);
  expect(named).toEqual(made);
});
