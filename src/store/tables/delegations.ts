import { defineEntity, p } from "@mikro-orm/core";
import { userReference } from "./accounts.ts";
import { createdAt, id, moment, words } from "./columns.ts";
import { GrantRow } from "./grants.ts";

/** What an agent holds on somebody's behalf: one row an exchange. It counts only as long as everything on its path does. */
export const DelegationRow = defineEntity({
  name: "DelegationRow",
  tableName: "delegations",
  properties: {
    id: p.uuid().primary(),
    kind: p.text(),
    jti: p.text(),
    /** Null for the exchange of a token that nobody had been given on behalf of another. */
    parent: () =>
      p
        .manyToOne(DelegationRow)
        .fieldName("parent_id")
        .nullable()
        .updateRule("no action")
        .deleteRule("cascade")
        .index("delegations_parent_id_index"),
    /** The token that was exchanged. */
    parentJti: p.text(),
    grant: () =>
      p.manyToOne(GrantRow).fieldName("grant_id").updateRule("no action").deleteRule("cascade").index("delegations_grant_id_index"),
    user: () => userReference().index("delegations_user_id_index"),
    path: p.array().columnType("uuid[]"),
    actor: p.text().index("delegations_actor_index"),
    scopes: words(),
    audience: words(),
    createdAt: createdAt(),
    expiresAt: moment().index("delegations_expires_at_index"),
    cutAt: moment().nullable(),
    /** Who made the cut, as the audit trail names them. */
    cutByType: p.text().nullable(),
    cutBy: p.text().nullable(),
  },
  indexes: [{ name: "delegations_created_at_index", properties: ["createdAt", "id"] }],
  checks: [{ name: "delegations_kind_check", expression: "kind = any (array['access_token'::text, 'id_jag'::text])" }],
});

/** An agent that may not act for now. A pause of the person's own ends when she ends it, one without a person when an operator does. */
export const AgentPauseRow = defineEntity({
  name: "AgentPauseRow",
  tableName: "agent_pauses",
  properties: {
    id: id(),
    /** client_id of the agent. */
    agent: p.text(),
    /** Null: it may act for nobody. */
    user: () => userReference().nullable().index("agent_pauses_user_id_index"),
    pausedAt: createdAt(),
    pausedByType: p.text(),
    pausedBy: p.text(),
  },
  indexes: [
    {
      name: "agent_pauses_agent_user_id_unique",
      expression: "create unique index agent_pauses_agent_user_id_unique on agent_pauses (agent, user_id) nulls not distinct",
    },
  ],
});

/** A person as another issuer names them. The pair is the identity: a foreign subject is never compared with an id of ours. */
export const IdentityLinkRow = defineEntity({
  name: "IdentityLinkRow",
  tableName: "identity_links",
  properties: {
    issuer: p.text().primary(),
    subject: p.text().primary(),
    user: () => userReference().index("identity_links_user_id_index"),
    createdAt: createdAt(),
  },
});
