import { writeFileSync } from "node:fs";
import type { AuditEvent } from "../src/audit.ts";
import type { AUDIT_LINKS, AUDIT_RECORDS } from "../src/store/tables/records.ts";
import { LOG_EVENTS } from "./log-events.ts";

/** What each event of the audit trail says, in one sentence. An event without one does not compile. */
export const AUDIT_DESCRIPTIONS: Readonly<Record<AuditEvent, string>> = {
  "token.issued":
    "An access token was issued, with `grantType`, `scope`, `resources`, `jti` and `grantId`; `reason` is `refresh_token_repeated` for a used refresh token within REFRESH_TOKEN_REUSE_GRACE.",
  "token.refused":
    "A token request of an authenticated client, or any token exchange, was refused, with `reason`, `rule` and `error`; `actChain` is that of an exchange.",
  "token.revoked": "A token was revoked, with what ended with it.",
  "code.issued": "An authorization code was issued, with `scope` and `resources`.",
  "code.replayed": "An authorization code was used twice; its grant ended.",
  "device.approved": "A user allowed the request of a device, with `clientId`, `scope` and `resources`; a denial is `consent.denied`.",
  "refresh_token.replayed": "A refresh token that had been replaced was used again; its family ended.",
  "session.started": "A user signed in.",
  "session.proved": "A signed-in user proved again who they are.",
  "session.refused":
    "A sign-in failed: wrong password, unknown address, disabled account, or a right password where the realm demands more (`sign_in_too_weak`), as `reason` says.",
  "session.ended": "A user signed out, or the session was ended; `clientId` is that of the access token of `POST /auth/logout`.",
  "user.registered":
    "An account was opened: by its user, or as `reason` says, such as `by_operator` or `imported`; `resources` has `realm:ID`.",
  "user.invited":
    "An operator invited a user into the realm that `resources` names (`realm:ID`), or withdrew the invitation (`withdrawn`).",
  "user.verified": "A user confirmed the e-mail address of a new account.",
  "user.provisioned":
    "An operator created or changed a user from a file; `resources` has `realm:ID` where the account was opened, or the user was moved to another realm.",
  "user.changed": "An operator changed a user. A move to another realm has the reason `realm`, and `realm:ID` in `resources`.",
  "user.deleted": "An account was deleted.",
  "user.access_removed": "An operator ended all sessions and grants of a user.",
  "address.change_requested": "A user asked for another e-mail address.",
  "address.changed": "A user confirmed another e-mail address.",
  "address.change_stopped": "A change of address was stopped or undone by the link to the former one.",
  "password.reset_requested": "A link to reset a password was asked for, or sent by an operator (`by_operator`).",
  "password.changed": "A password was changed or reset.",
  "second_factor.added": "Two-step sign-in was turned on.",
  "second_factor.removed": "Two-step sign-in was turned off, by its user (`by_owner`) or an operator (`by_operator`).",
  "recovery_codes.replaced": "A user's recovery codes were replaced.",
  "recovery_code.used": "A recovery code was used at a sign-in.",
  "passkey.added": "A user added a passkey.",
  "passkey.changed": "A user renamed a passkey.",
  "passkey.removed": "A passkey was removed, by its user or an operator (`by_operator`).",
  "passkey.refused": "A copy of a passkey was used and refused.",
  "realm.changed":
    "An operator changed a realm; `resources` has `realm:ID`. The reason is `created`, `renamed` or `removed`, or what was changed: `required_acr`, `branding`; it is absent for the scopes of open registration.",
  "scope.changed": "An operator described a scope; `resources` has `realm:ID`.",
  "scope.removed": "An operator removed the description of a scope; `resources` has `realm:ID`.",
  "resource.created": "A record of a resource was created; `resources` has its URI and `realm:ID`, `scope` its scopes.",
  "resource.changed": "A record of a resource was changed; `resources` as above.",
  "resource.deleted": "A record of a resource was deleted; `resources` as above.",
  "consent.given": "A user allowed a client.",
  "consent.denied": "A user denied a client.",
  "consent.revoked": "The access of a client was removed, by the user or an operator (`by_operator`).",
  "client.registered": "A client was created; `scope` has its scopes, `resources` those that it represents (`audience`).",
  "client.changed":
    "A client was changed: `reason` has the names of the members that have other values now, in place of `enabled` the words `enabled` or `disabled`; a change of scopes or audience has the scopes of then as `scope`, and the audience of before and then as `resources`. A secret is called `secret`.",
  "client.deleted": "A client was deleted.",
  "client.access_removed": "All grants of a client were ended.",
  "client.secret_replaced": "A client got a new secret.",
  "client.refused": "A `client_id` failed to authenticate a hundred times within a minute from one address.",
  "api_key.created": "An API key was created.",
  "api_key.revoked": "An API key was revoked.",
  "key.published": "A signing key was seen for the first time.",
  "key.withdrawn": "An operator withdrew a signing key; `resources` has `key:KID`.",
  "audit.archived":
    "Records of the audit trail were exported to AUDIT_ARCHIVE and may be removed; `resources` has `audit:FIRST-LAST`, their numbers.",
  "identity.linked":
    "An identity at another issuer, which `resources` names, now belongs to a user: by an identity assertion, at the first sign-in (`connection`) or by the user (`by_user`).",
  "identity.unlinked": "An identity at another issuer no longer belongs to a user.",
  "connection.created": "An operator created a connection to an identity provider; `resources` has its issuer.",
  "connection.changed": "An operator changed a connection.",
  "connection.deleted": "An operator deleted a connection.",
  "workload_issuer.created": "An operator trusted a platform.",
  "workload_issuer.changed": "An operator changed a trusted platform.",
  "workload_issuer.deleted": "An operator no longer trusts a platform.",
  "workload_identity.added": "A client may authenticate by an identity on a platform.",
  "workload_identity.removed": "A client may no longer authenticate by that identity.",
  "workload.refused":
    "The token of a platform was refused; `workloadIssuer` and `workloadSubject` name a trusted platform and an identity on it.",
  "wallet.link_started": "A user began to link a wallet.",
  "wallet.linked": "A user linked a wallet.",
  "wallet.refused": "The presentation of a wallet was refused, as `reason` says (docs/wallet.md).",
  "wallet.unlinked": "A user unlinked a wallet.",
  "identity_assertion.issued": "An identity assertion was issued for another authorization server.",
  "identity_assertion.refused": "An identity assertion was refused.",
  "delegation.cut": "A delegation or grant was cut.",
  "agent.paused": "An agent was paused, for `userId` or for all users.",
  "agent.resumed": "A paused agent was resumed.",
};

type Member = Exclude<(typeof AUDIT_RECORDS.members)[number], "actorType" | "actorId"> | (typeof AUDIT_LINKS.members)[number];

/** What each member of a record holds. */
const MEMBERS: Readonly<Record<Member, string>> = {
  id: "UUIDv7 of the record, unique for ever: receivers recognize by it what arrives twice",
  seq: "number in the chain, from 1 without gaps",
  hash: "the record's link in the chain",
  at: "when, by the database's clock",
  event: "one of the events below",
  outcome: "`success` or `failure`",
  reason: "a fixed word that says why, such as `code_expired`",
  rule: "the rule that refused ([explain.md](explain.md))",
  error: "the error code of the response",
  userId: "the user whom it concerns",
  clientId: "the client",
  grantType: "the grant of a token request",
  scope: "scopes, separated by spaces",
  resources: "resource indicators, or another object of the event",
  jti: "the token's identifier",
  grantId: "the grant",
  actChain: "client ids of the delegation chain, the current actor first",
  address: "network address of the caller",
  requestId: "`X-Request-Id` of the response",
  repeats: "for how many further requests of the same kind the record stands",
  workloadIssuer: "the platform whose token the client used",
  workloadSubject: "the workload's name on that platform",
  note: "what the actor wrote to explain the act, or the name of a realm that was made or removed; of one that was renamed, before and after",
};

const HEAD = `# Events

Two catalogues for those who collect and alert. The audit trail says what happened to accounts, clients and tokens, and is proof ([audit.md](audit.md)); the log says how the processes fare.
Both are JSON. Names of events and members are stable: they are added, and never change their meaning. No event holds a secret, token, code or password.

This file is written by \`npm run generate:docs\` from \`src/audit.ts\` and \`scripts/log-events.ts\`.
`;

const ACTOR = "| `actor` | who did it: `type` is `user`, `client` or `service`, `id` names them |";

/** docs/events.md as it must be. */
export function eventsReference(): string {
  const members = Object.entries(MEMBERS).map(([name, meaning]) => `| \`${name}\` | ${meaning} |`);
  const audit = Object.entries(AUDIT_DESCRIPTIONS).map(([event, meaning]) => `| \`${event}\` | ${meaning} |`);
  const log = Object.entries(LOG_EVENTS).map(
    ([event, { level, members: named, meaning }]) =>
      `| \`${event}\` | ${level} | ${named.map((name) => `\`${name}\``).join(" ")} | ${meaning} |`,
  );
  return [
    HEAD,
    `## Members of an audit record

These are the members that [AUDIT_STREAM](audit.md#sending-it-elsewhere) sends; one without a value is left out. In \`countersign audit tail --json\` and over \`/trpc\` \`at\` is in milliseconds since the epoch,
\`address\` is named \`ip\`, and \`depth\` is the length of \`actChain\`. An export has the columns of the database: \`user_id\` for \`userId\`, \`actor_type\` and \`actor_id\` for \`actor\`, and \`at\` in microseconds.
`,
    ["| member | holds |", "| --- | --- |", ...members.slice(0, 6), ACTOR, ...members.slice(6)].join("\n"),
    "\n## Events of the audit trail\n",
    ["| event | says |", "| --- | --- |", ...audit].join("\n"),
    `\n## Events of the log

Each line has \`time\`, \`level\` (30 info, 40 warn, 50 error), \`pid\`, \`role\` and \`event\`. An \`error\` has \`kind\`, \`code\`, where it came from (\`at\`) and its \`cause\`, without the
message, which may quote input.
`,
    ["| event | level | members | says |", "| --- | --- | --- | --- |", ...log, ""].join("\n"),
  ].join("\n");
}

if (import.meta.main) writeFileSync(new URL("../docs/events.md", import.meta.url), eventsReference());
