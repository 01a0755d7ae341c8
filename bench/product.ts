/** The product as it is, put together by its own compose(), with the scenario laid down; it tells its CPU time to the process that started it. */
import { randomBytes } from "node:crypto";
import { systemClock } from "../src/clock.ts";
import { compose } from "../src/compose.ts";
import { loadConfig } from "../src/config.ts";
import { parseProvisionFile } from "../src/management/provision.ts";
import { hashSecret, newId } from "../src/random.ts";
import { consents } from "../src/store/consents.ts";
import { openDatabase } from "../src/store/orm.ts";
import { sessions } from "../src/store/sessions.ts";
import { type Sql, statement } from "../src/store/sql.ts";
import { reportTo } from "./measured.ts";
import { agents, clients, PROVISION, pick, RESOURCE, SCOPE, users } from "./scenario.ts";

// Of an earlier run on the same database.
const SIGN_OUT = statement("bench_sign_out", "delete from sessions where token_hash = $1::bytea");
const USER_ID = statement("bench_user_id", "select id::text from users where email_key = $1");

/** Signs everyone in and has them agree to every client. */
async function signIn(sql: Sql): Promise<void> {
  for (const { email, sessionSecret } of users) {
    const [user] = await sql.query<{ id: string }>(USER_ID, [email]);
    if (user === undefined) throw new Error(`${email} was not provisioned`);
    const audit = { outcome: "success", actor: { type: "user", id: user.id }, userId: user.id } as const;
    const id = () => newId(systemClock, randomBytes);
    const sessionId = id();
    await sql.query(SIGN_OUT, [hashSecret(sessionSecret)]);
    await sessions(sql).start(
      { id: sessionId, hash: hashSecret(sessionSecret), userId: user.id, ttl: 3600 },
      { ...audit, event: "session.started" },
    );
    for (const [n, { clientId }] of clients.entries()) {
      for (const resources of [[], [RESOURCE, pick(agents, n).clientId]]) {
        const consent = { id: id(), userId: user.id, sessionId, clientId, clientName: clientId, scopes: SCOPE.split(" "), resources };
        await consents(sql).give(consent, { ...audit, event: "consent.given", clientId });
      }
    }
  }
}

const config = loadConfig(process.env, "all");
const database = await openDatabase(config.databaseUrl === undefined ? { dir: config.dataDir } : { url: config.databaseUrl });
const running = await compose(config, "all", { database, provision: parseProvisionFile(JSON.stringify(PROVISION)) });
await signIn(database.sql);
reportTo(process, config.port, async () => {
  await running.close(0);
  await database.close();
});
