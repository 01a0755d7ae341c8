import { shownResource } from "./client-words.ts";

export interface ScopeWords {
  readonly title: string;
  readonly detail: string;
}

/** The scopes that the service itself gives a meaning, in words for a person. */
const CATALOGUE: ReadonlyMap<string, ScopeWords> = new Map([
  ["openid", { title: "Know who you are", detail: "Recognise you when you come back. Your password is never shared." }],
  ["profile", { title: "See your name", detail: "Your first and last name, if you gave them." }],
  ["email", { title: "See your e-mail address", detail: "The address, and whether it is confirmed." }],
  ["offline_access", { title: "Keep access while you are away", detail: "Stay connected until you take the access back." }],
  ["clients:manage", { title: "Manage your applications", detail: "Create, change and delete the applications that you develop." }],
  ["agent:readonly", { title: "Let an AI agent read for you", detail: "An agent may look things up, but change nothing." }],
  ["agent:admin", { title: "Let an AI agent change things for you", detail: "An agent may change settings and data in your name." }],
  ["agent:exec", { title: "Let an AI agent act for you", detail: "An agent may carry out actions in your name." }],
]);

/**
 * A scope in plain words. One that we know nothing of keeps its name: what it allows is for the places to say where it is good.
 * @param resources where the access is for; nowhere is the application itself
 */
export const scopeWords = (scope: string, resources: readonly string[] = []): ScopeWords =>
  CATALOGUE.get(scope) ?? {
    title: scope,
    detail: resources.length === 0 ? OWN : `A permission at ${places.format(resources.map(shownResource))}.`,
  };

const OWN = "A permission of the application itself.";
const places = new Intl.ListFormat("en");
