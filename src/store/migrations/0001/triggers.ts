/** No access token lives longer than a day (settings); an hour more for clocks that differ. */
const LONGEST = "interval '25 hours'";

const record = (kind: string, key: string, lifted: string, expiresAt = `now() + ${LONGEST}`): string =>
  `perform record_revocation('${kind}', ${key}, ${lifted}, ${expiresAt});`;

/** A trigger and its function: after each row of an event on a table. */
const after = (name: string, event: string, body: string, when?: string): readonly string[] => [
  `create function ${name}() returns trigger language plpgsql as $$ begin ${body} return null; end $$`,
  `create trigger ${name} after ${event} for each row ${when === undefined ? "" : `when (${when})`} execute function ${name}()`,
];

/** The key of a pause: the agent, or the agent and the user. A client_id holds no control character (core/revocation-digest.ts). */
const pauseKey = (row: "new" | "old"): string => `${row}.agent || coalesce(E'\\n' || ${row}.user_id::text, '')`;

/**
 * Revocation events, for resource servers that verify tokens themselves. Triggers write them, so that no statement revokes anything
 * without one, and in its transaction. An event has its transaction's id, by which readers find what was committed late (docs/decisions/0010).
 */
const revocationEvents = [
  `create function record_revocation(text, text, boolean, timestamptz) returns void language sql as $$
     insert into revocation_events (xid, kind, key, lifted, expires_at) values (pg_current_xact_id()::text::bigint, $1, $2, $3, $4)
   $$`,
  ...after("record_token_revoked", "insert on revocations", record("jti", "new.jti", "false", "new.expires_at")),
  // What is below a cut delegation needs no event: a delegated token names its ancestor tokens.
  ...after(
    "record_delegation_cut",
    "update of cut_at on delegations",
    record("jti", "new.jti", "false", "new.expires_at"),
    "old.cut_at is null and new.cut_at is not null and new.kind = 'access_token'",
  ),
  // A deleted client's own event covers its grants, so that guards are sent one event and not one for each grant.
  ...after(
    "record_grant_revoked",
    "update of revoked_at on grants",
    `if new.document_client is not null or exists (select 1 from clients where clients.client_id = new.client_id) then
       ${record("grant", "new.id::text", "false")}
     end if;`,
    "old.revoked_at is null and new.revoked_at is not null",
  ),
  ...after(
    "record_client_changed",
    "update of enabled on clients",
    record("client", "new.client_id", "new.enabled"),
    "old.enabled <> new.enabled",
  ),
  ...after("record_client_deleted", "delete on clients", record("client", "old.client_id", "false")),
  // A client registered under the client_id of a deleted one: that client's event is lifted, so its old grants get events of their own.
  ...after(
    "record_client_returned",
    "insert on clients",
    `if exists (select 1 from revocation_events where kind = 'client' and key = new.client_id) then
       perform record_revocation('grant', grants.id::text, false, now() + ${LONGEST})
         from grants where grants.client_id = new.client_id and grants.revoked_at > now() - ${LONGEST}
           and not exists (select 1 from revocation_events earlier where earlier.kind = 'grant' and earlier.key = grants.id::text);
       ${record("client", "new.client_id", "new.enabled")}
     end if;`,
  ),
  ...after(
    "record_user_changed",
    "update of enabled on users",
    record("user", "new.id::text", "new.enabled"),
    "old.enabled <> new.enabled",
  ),
  ...after("record_user_deleted", "delete on users", record("user", "old.id::text", "false")),
  ...after("record_agent_paused", "insert on agent_pauses", record("agent", pauseKey("new"), "false")),
  ...after("record_agent_resumed", "delete on agent_pauses", record("agent", pauseKey("old"), "true")),
];

/** Every column of the audit log but those of the seal; none of them may be changed. */
const SEALED =
  "id, at, event, outcome, reason, actor_type, actor_id, user_id, client_id, grant_type, scope, resources, jti, grant_id, act_chain, address, request_id, rule, error, repeats";

const sealed = (row: "old" | "new"): string =>
  `row(${SEALED.split(", ")
    .map((column) => `${row}.${column}`)
    .join(", ")})`;

const refuse = (name: string, event: string, table: string, each: "row" | "statement", when = ""): string =>
  `create trigger ${name} before ${event} on ${table} for each ${each} ${when} execute function audit_is_append_only()`;

/**
 * Records may be added, and sealed once. The owner of the tables can drop the triggers; the chain shows what was done then. The condition is
 * part of the trigger, so that sealing, the one change that is allowed, calls no function.
 */
const appendOnly = [
  `create function audit_is_append_only() returns trigger language plpgsql as $$
   begin raise exception 'the audit trail is append-only' using errcode = 'restrict_violation'; end $$`,
  refuse(
    "audit_records_append_only",
    "update",
    "audit_records",
    "row",
    `when (old.seq is not null or new.seq is null or ${sealed("old")} is distinct from ${sealed("new")})`,
  ),
  refuse("audit_records_not_deleted", "delete", "audit_records", "row"),
  refuse("audit_records_not_emptied", "truncate", "audit_records", "statement"),
  refuse("audit_checkpoints_append_only", "update or delete", "audit_checkpoints", "row"),
  refuse("audit_checkpoints_not_emptied", "truncate", "audit_checkpoints", "statement"),
];

/** Created after the tables. */
export const triggers = [...revocationEvents, ...appendOnly];
