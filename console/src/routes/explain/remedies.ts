/** The screen on which what a rule evaluates can be changed. */
export type Remedy = "client" | "agent" | "users" | "resources" | "settings";

const SCREENS: Readonly<Record<Remedy, readonly string[]>> = {
  client: [
    ..."client_known client_enabled client_proven method_registered confidential_client grant_held redirect_uri scope agent".split(" "),
    ..."dpop_required request_pushed agent_mode scope_known".split(" "),
  ],
  agent: ["agent_not_paused", "chain_length"],
  users: ["user_enabled", "subject_user_enabled", "subject_signed_in"],
  resources: ["resource", "target"],
  settings: ["grant_served", "other_issuer"],
};

const BY_RULE = new Map(Object.entries(SCREENS).flatMap(([remedy, rules]) => rules.map((rule) => [rule, remedy as Remedy])));

/** Undefined where only the request itself can be changed. Pure. */
export const remedyOf = (rule: string): Remedy | undefined => BY_RULE.get(rule);
