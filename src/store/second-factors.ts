import type { AuthenticatorApp, SecondFactorState, SecondFactors } from "../accounts/factors.ts";
import type { FactorUse } from "../accounts/ports.ts";
import { wrongCode } from "../accounts/second-factor.ts";
import type { SecretHash } from "../random.ts";
import { record } from "./audit-log.ts";
import { holdRemover, withSession } from "./held-sessions.ts";
import { notifyUser } from "./outbox.ts";
import { firstRow, hasRow, hex, preciseSeconds, type Sql, seconds, statements, type Tx } from "./sql.ts";

const CONFIRMED = "user_id = $1::uuid and confirmed_at is not null";

const SQL = statements("second_factor", {
  state: `select (select ${preciseSeconds("confirmed_at")} from authenticator_apps where ${CONFIRMED}) as "appAddedAt",
     (select count(*)::int from recovery_codes where user_id = $1::uuid) as "recoveryCodes"`,
  app: `select secret, confirmed_at is not null as confirmed, session_id::text as "sessionId", ${seconds("now()")} as now from authenticator_apps where user_id = $1::uuid`,
  begin: `insert into authenticator_apps as app (user_id, secret, session_id) values ($1::uuid, $2, $3::uuid)
   on conflict (user_id) do update set secret = excluded.secret, session_id = excluded.session_id, created_at = now(), last_step = 0 where app.confirmed_at is null
   returning 1 as one`,
  confirm: `update authenticator_apps set confirmed_at = now(), last_step = $2::bigint
   where user_id = $1::uuid and secret = $3 and confirmed_at is null and last_step < $2::bigint returning 1 as one`,
  useStep: `update authenticator_apps set last_step = $2::bigint where ${CONFIRMED} and last_step < $2::bigint returning 1 as one`,
  useCode: "delete from recovery_codes where code_hash = $2::bytea and user_id = $1::uuid returning 1 as one",
  confirmed: `select 1 as one from authenticator_apps where ${CONFIRMED}`,
  dropCodes: "delete from recovery_codes where user_id = $1::uuid",
  addCodes: `insert into recovery_codes (code_hash, user_id) select decode(hash, 'hex'), $1::uuid from unnest($2::text[]) as hash`,
  dropApp: `delete from authenticator_apps where ${CONFIRMED} returning 1 as one`,
});

const replaceCodes = async (tx: Tx, userId: string, codes: readonly SecretHash[]): Promise<void> => {
  await tx.query(SQL.dropCodes, [userId]);
  await tx.query(SQL.addCodes, [userId, codes.map(hex)]);
};

/** Uses up a code of a second factor. @throws {Refusal} unauthenticated when it was used, or is unknown */
export async function useFactor(tx: Tx, userId: string, factor: FactorUse): Promise<void> {
  const [how, what] = factor.kind === "otp" ? [SQL.useStep, factor.step] : [SQL.useCode, factor.code];
  if (!(await hasRow(tx, how, [userId, what]))) throw wrongCode();
  if (factor.kind === "otp") return;
  await notifyUser(tx, userId, factor.message);
  await record(tx, factor.audit);
}

export const secondFactors = (sql: Sql): SecondFactors => ({
  stateOf: async (userId) => (await firstRow<SecondFactorState>(sql, SQL.state, [userId])) ?? { appAddedAt: null, recoveryCodes: 0 },
  appOf: (userId) => firstRow<AuthenticatorApp>(sql, SQL.app, [userId]),
  begin: ({ id, userId }, secret) => withSession(sql, { id, userId }, (tx) => hasRow(tx, SQL.begin, [userId, secret, id])),
  confirm: ({ id, userId }, { secret, step }, codes, message, audit) =>
    withSession(sql, { id, userId }, async (tx) => {
      if (!(await hasRow(tx, SQL.confirm, [userId, step, secret]))) return false;
      await replaceCodes(tx, userId, codes);
      await notifyUser(tx, userId, message);
      await record(tx, audit);
      return true;
    }),
  replaceCodes: ({ id, userId }, codes, audit) =>
    withSession(sql, { id, userId }, async (tx) => {
      if (!(await hasRow(tx, SQL.confirmed, [userId]))) return false;
      await replaceCodes(tx, userId, codes);
      await record(tx, audit);
      return true;
    }),
  remove: (userId, sessionId, message, audit) =>
    sql.transaction(async (tx) => {
      await holdRemover(tx, userId, sessionId);
      if (!(await hasRow(tx, SQL.dropApp, [userId]))) return false;
      await tx.query(SQL.dropCodes, [userId]);
      await notifyUser(tx, userId, message);
      await record(tx, audit);
      return true;
    }),
});
