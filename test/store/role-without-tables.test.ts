import { expect, onTestFinished, test } from "vitest";
import { auditLog } from "../../src/store/audit-log.ts";
import { auditSealer } from "../../src/store/audit-sealer.ts";
import { anAudit } from "../support/accounts.ts";
import { freshEmbedded, runText } from "../support/database.ts";
import { blocksOf } from "../support/documents.ts";

const shown = blocksOf("docs/production.md").find(({ code }) => code.includes("create role"))?.code ?? "";
const statements = shown
  .replaceAll(/^--.*$/gm, "")
  .split(";")
  .map((text) => text.trim())
  .filter((text) => text !== "");

test("the role of docs/production.md writes and seals audit records, and may use every table and sequence, later ones too, but owns none", async () => {
  const { sql, close } = await freshEmbedded();
  onTestFinished(close);
  for (const text of statements) await runText(sql, text);
  await runText(sql, "create table of_a_later_release (id bigserial primary key)");
  await runText(sql, "set role countersign_server");
  await auditLog(sql).record(anAudit("token.refused"));
  expect(await auditSealer(sql, undefined).seal()).toBe(1);
  const forbidden = await runText(
    sql,
    `select relname from pg_class cross join unnest(array['select', 'insert', 'update', 'delete']) as does
     where relnamespace = 'public'::regnamespace and (pg_get_userbyid(relowner) = current_user
       or relkind in ('r', 'p') and not has_table_privilege(oid, does) or relkind = 'S' and not has_sequence_privilege(oid, 'usage'))`,
  );
  expect(forbidden).toEqual([]);
});
