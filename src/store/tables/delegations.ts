import type { AuditActor } from "../../audit.ts";
import type { Confirmation } from "../../core/stored-grants.ts";
import { boolean, createdAt, id, json, nullable, reference, table, text, texts, time, uuid, uuids } from "./table.ts";

/** What an agent holds for a user: one row for each exchange. It is active while everything on its path is. */
export const DELEGATIONS = table(
  "delegations",
  {
    id: uuid({ primary: true }),
    kind: text({ oneOf: ["access_token", "id_jag"] }),
    jti: text(),
    /** The delegation whose token was exchanged; null: a token that was not delegated. */
    parentId: nullable(reference("delegations", { index: true })),
    /** The exchanged token. */
    parentJti: text(),
    grantId: reference("grants", { index: true }),
    userId: reference("users", { index: true }),
    /** Ids from the topmost delegation down to this one, so that one query reads them all. */
    path: uuids(),
    actor: text({ index: true }),
    scopes: texts(),
    audience: texts(),
    createdAt: createdAt(),
    expiresAt: time(),
    cutAt: nullable(time()),
    /** Who made the cut, as the audit log names them. */
    cutByType: nullable(text<AuditActor["type"]>()),
    cutBy: nullable(text()),
    /** The key that the new token is bound to. */
    cnf: nullable(json<Confirmation>()),
  },
  { indexes: { delegations_created_at_index: "(created_at, id)", delegations_expires_at_index: "(expires_at, id)" } },
);

/** An agent that is paused. The user lifts a pause with a user; an operator one without. */
export const AGENT_PAUSES = table(
  "agent_pauses",
  {
    id: id(),
    /** client_id. */
    agent: text(),
    /** Null: for all users. */
    userId: nullable(reference("users", { index: true })),
    pausedAt: createdAt(),
    pausedByType: text<AuditActor["type"]>(),
    pausedBy: text(),
    /** In the words of the operator; null: not given. */
    reason: nullable(text()),
  },
  { uniqueIndexes: { agent_pauses_agent_user_id_unique: "(agent, user_id) nulls not distinct" } },
);

/** A user as another issuer names them. The pair is the identity: a third-party subject is never compared with a local id. */
export const IDENTITY_LINKS = table("identity_links", {
  issuer: text({ primary: true }),
  subject: text({ primary: true }),
  userId: reference("users", { index: true }),
  createdAt: createdAt(),
  /** Whether it may sign in: the account was opened by it, or its user linked it. */
  confirmed: boolean({ default: "false" }),
  /** The address that the issuer named when it was linked; shown, never compared. */
  email: nullable(text()),
});
