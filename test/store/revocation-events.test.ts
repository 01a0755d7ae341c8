import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Database } from "../../src/store/orm.ts";
import { statement } from "../../src/store/sql.ts";
import { revocationEvents } from "../../src/store/token-states.ts";
import { databaseKinds, runText } from "../support/database.ts";

const run = ({ sql }: Database, text: string) => runText(sql, text);
const REALM = "00000000-0000-7000-8000-000000000001";
const client = (clientId: string, enabled = true) =>
  `insert into clients (client_id, realm_id, origin, name, redirect_uris, scopes, grant_types, response_types, token_endpoint_auth_method, enabled)
   values ('${clientId}', '${REALM}', 'developer', 'c', '{}', '{}', '{refresh_token}', '{}', 'none', ${enabled})`;
const token = (jti: string) => `insert into revocations (jti, client_id, expires_at) values ('${jti}', 'c', now() + interval '5 minutes')`;

describe.for(databaseKinds)("revocation events on $name", ({ name, fresh }) => {
  let database: Database;
  beforeAll(async () => {
    database = await fresh();
  });
  afterAll(() => database.close());

  /** Kind, key and `lifted` of the events that were written during `work`. */
  async function eventsOf(work: () => Promise<unknown>) {
    const marks = revocationEvents(database.sql);
    const edge = await marks.edge();
    // An open older transaction, of any session, holds the cursor back, so that an event may be sent twice.
    const before = new Set((await marks.since(edge)).marks.map(({ sequence }) => sequence));
    await work();
    const page = await marks.since(edge);
    expect(page.whole).toBe(false);
    const news = page.marks.filter(({ sequence }) => !before.has(sequence));
    return news.map(({ kind, key, lifted }) => `${lifted ? "+" : "-"}${kind} ${key}`);
  }

  test("every statement that revokes or restores a token, grant, client or user writes a revocation event", async () => {
    expect(await eventsOf(() => run(database, client("c")))).toEqual([]);
    const user = "00000000-0000-7000-8000-0000000000aa";
    const grant = "00000000-0000-7000-8000-0000000000bb";
    await run(database, `insert into users (id, realm_id, email, email_key) values ('${user}', '${REALM}', 'a@example.test', 'a')`);
    await run(
      database,
      `insert into grants (id, client_id, user_id, scopes, audience, auth_time) values ('${grant}', 'c', '${user}', '{}', '{}', now())`,
    );
    expect(await eventsOf(() => run(database, token("t1")))).toEqual(["-jti t1"]);
    const end = "update grants set revoked_at = now()";
    expect([await eventsOf(() => run(database, end)), await eventsOf(() => run(database, end))]).toEqual([[`-grant ${grant}`], []]);
    expect(await eventsOf(() => run(database, "update users set enabled = false"))).toContain(`-user ${user}`);
    expect(await eventsOf(() => run(database, "update users set enabled = true"))).toContain(`+user ${user}`);
    expect(await eventsOf(() => run(database, "update clients set enabled = false where client_id = 'c'"))).toEqual(["-client c"]);
    expect(await eventsOf(() => run(database, "update clients set enabled = true where client_id = 'c'"))).toEqual(["+client c"]);
    expect(await eventsOf(() => run(database, "update clients set name = 'd' where client_id = 'c'"))).toEqual([]);
    const secret =
      "update clients set token_endpoint_auth_method = 'client_secret_basic', secret_hash = sha256('secret') where client_id = 'c'";
    expect([await eventsOf(() => run(database, secret)), await eventsOf(() => run(database, secret))]).toEqual([["+client c"], []]);
    expect(await eventsOf(() => run(database, "delete from clients where client_id = 'c'"))).toEqual([
      "-client c",
      expect.stringMatching(/^-grant [0-9a-f-]{36}$/), // the record, which the client's own tokens name
    ]);
    expect(await eventsOf(() => run(database, client("c")))).toEqual(["+client c"]);
    expect(await eventsOf(() => run(database, `delete from users where id = '${user}'`))).toEqual([`-user ${user}`]);
  });

  test("the client of a metadata document ends with a disabled client of its client_id, and returns with its first code without that", async () => {
    const [document, user, grant] = [
      "https://document.example.test/c",
      "00000000-0000-7000-8000-0000000000cc",
      "00000000-0000-7000-8000-0000000000dd",
    ];
    await run(database, `insert into users (id, realm_id, email, email_key) values ('${user}', '${REALM}', 'd@example.test', 'd')`);
    await run(
      database,
      `insert into grants (id, client_id, user_id, scopes, audience, auth_time) values ('${grant}', '${document}', '${user}', '{}', '{}', now())`,
    );
    const code = (hash: string) =>
      `insert into authorization_codes (code_hash, client_id, redirect_uri, code_challenge, scopes, resources, user_id, session_id, auth_time, expires_at, document_client)
       values ('${hash}', '${document}', '', '', '{}', '{}', '${user}', '${grant}', now(), now(), '{}')`;
    expect(await eventsOf(() => run(database, code("1")))).toEqual([]);
    expect(await eventsOf(() => run(database, client(document, false)))).toEqual([`-client ${document}`]);
    await run(database, `delete from clients where client_id = '${document}'`);
    await run(database, "update grants set revoked_at = now() where revoked_at is null");
    expect(await eventsOf(() => run(database, code("2")))).toEqual([`-grant ${grant}`, `+client ${document}`]);
    expect(await eventsOf(() => run(database, code("3")))).toEqual([]);
  });

  test("a rolled back transaction writes no revocation event", async () => {
    const undone = () =>
      database.sql.transaction(async (tx) => {
        await tx.query(statement("test_undone", token("undone")), []);
        throw new Error("undone");
      });
    expect(await eventsOf(() => undone().catch(() => undefined))).toEqual([]);
  });

  test("without a cursor, or with an invalid one, all events are returned, also those just expired, for guards whose clocks are behind", async () => {
    const { since } = revocationEvents(database.sql);
    await run(database, "insert into revocations (jti, client_id, expires_at) values ('over', 'c', now() - interval '1 minute')");
    for (const cursor of [undefined, "999999999999999", "-1", "rubbish"]) {
      const { whole, marks } = await since(cursor);
      expect([cursor, whole, marks.map(({ key }) => key)]).toEqual([cursor, true, expect.arrayContaining(["t1", "over"])]);
    }
  });

  // Needs two concurrent transactions, which the single connection of the embedded database does not have.
  if (name === "postgresql") {
    test("events committed after a cursor was read follow that cursor, also when a later one was committed first", async () => {
      const { edge, since } = revocationEvents(database.sql);
      let cursor = "";
      await database.sql.transaction(async (tx) => {
        await tx.query(statement("test_late", token("late")), []);
        await run(database, token("early"));
        cursor = await edge();
        const seen = (await since(cursor)).marks.map(({ key }) => key);
        expect([seen.includes("early"), seen.includes("late")]).toEqual([true, false]);
      });
      expect((await since(cursor)).marks.map(({ key }) => key)).toEqual(expect.arrayContaining(["early", "late"]));
    });

    test("events that were restored into a younger cluster follow each cursor until the next migration, and those before it afterwards too", async () => {
      const { edge, since } = revocationEvents(database.sql);
      await run(database, token("restored"));
      await run(database, "update revocation_events set xid = 1000000000000 where key = 'restored'");
      const isSeen = async (cursor: string) => (await since(cursor)).marks.some(({ key }) => key === "restored");
      const before = await edge();
      expect(await isSeen(before)).toBe(true);
      await database.migrate();
      await expect.poll(async () => isSeen(await edge())).toBe(false); // once transactions of other tests have ended
      expect(await isSeen(before)).toBe(true);
    });
  }
});
