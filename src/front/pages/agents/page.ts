import {
  type AgentPause,
  cutOwnDelegations,
  type Delegation,
  type NamedClient,
  pauseForUser,
  resumeForUser,
} from "../../../accounts/delegations.ts";
import type { User } from "../../../accounts/ports.ts";
import { MAX_ACTORS, mayExchange, type NamedTarget } from "../../../clients/client.ts";
import type { Form } from "../../../protocol/form.ts";
import { type Language, shownList, type Texts } from "../../../texts/languages.ts";
import { donePath } from "../../done.ts";
import { accountForm, accountPageHandler, accountToken, goneForm, type Visit } from "../kit.ts";
import { type AccountPage, doneWords, sendAccountPage } from "../views/cards.ts";
import { buttonForm, type FailedForm, faultSummary, html, type Markup, moment, type Part } from "../views/layout.ts";
import { type Names, namesOf, scopeWords, shownName, shownTarget, shownText } from "../views/words.ts";

const PATH = "/account/agents";

/** Active delegations, recent ones and pauses that one page lists, each at most. */
const PAGE_LIMIT = 200;

type Shown = Partial<Pick<AccountPage, "done">> & FailedForm;

async function show(visit: Visit, user: User, { done, faults = [], status }: Shown): Promise<void> {
  const { ports, language } = visit;
  const { delegations, agentPauses } = ports;
  const owner = { kind: "user", userId: user.id } as const;
  const [live, lately, pauses] = await Promise.all([
    delegations.list(owner, { live: true }, { limit: PAGE_LIMIT }),
    delegations.list(owner, {}, { limit: PAGE_LIMIT }),
    agentPauses.list(owner, {}, { limit: PAGE_LIMIT }),
  ]);
  const all = [...live.items, ...lately.items];
  const asked = ports.namedTargets([...new Set(all.flatMap(({ chain, audience }) => [...chain, ...audience]))]);
  const access = all.map(({ scopes, audience }) => ({ scopes, resources: audience }));
  const [names, clients] = [await namesOf(ports, user, access, asked), await asked];
  const cards = agentCards(all, pauses.items);
  const [texts, token] = [visit.texts.agents, accountToken(visit, user)];
  const agents = new Map(cards.map(({ agent }) => [agent.clientId, nameOf(language, agent)]));
  const named = (id: string) => agents.get(id) ?? shownName(language, clients.get(id)?.name ?? id);
  const print = { ...visit, ...names, token, clients, named };
  const content = html`${faultSummary(language, faults)}
<p>${texts.intro}</p>
${cards.length === 0 ? html`<p class="empty">${texts.none}</p>` : cards.map((card, index) => agentCard(print, card, index))}
${live.next !== null && html`<p class="small">${texts.more}</p>`}
${cards.length > 0 && html`<p class="small">${texts.hint}</p>`}`;
  sendAccountPage(visit, { path: PATH, title: texts.title, faults, done: doneWords(texts.done, done) }, content, status);
}

/** GET /account/agents: which agents act for the user, where, with which permissions, until when. */
export const agentsPage = accountPageHandler((visit, { signedIn: { user }, done }) => show(visit, user, { done }));

/** POST of a form that stops something, which may be gone since the page was shown. @param act returns the value of `done` */
const stopForm = (act: (visit: Visit, form: Form, user: User) => Promise<string>) =>
  accountForm(
    async (visit, form, { user }) => donePath(visit, PATH, await act(visit, form, user)),
    (visit, { user }, error) => show(visit, user, goneForm(error, visit.texts.agents.gone)),
  );

/** POST /account/agents/end: stops one delegation, or with `agent` all of an agent. */
export const endAgentPage = stopForm(async (visit, form, user) => {
  const agent = form.get("agent");
  const what =
    agent === undefined
      ? ({ kind: "delegation", id: form.get("delegation") ?? "" } as const)
      : ({ kind: "agent", clientId: agent } as const);
  await cutOwnDelegations(what, user.id, visit.ports, visit.caller);
  return "ended";
});

export const pauseAgentPage = stopForm(async (visit, form, user) => {
  await pauseForUser(form.get("agent") ?? "", user.id, visit.ports, visit.caller);
  return "paused";
});

export const resumeAgentPage = accountForm(async (visit, form, { user }) => {
  const agent = form.get("agent") ?? "";
  await resumeForUser(agent, user.id, visit.ports, visit.caller);
  const { items } = await visit.ports.agentPauses.list({ kind: "user", userId: user.id }, { agent }, { limit: 1 });
  return donePath(visit, PATH, items.length === 0 ? "resumed" : "stillPaused");
});

interface Print extends Visit, Names {
  readonly token: string;
  readonly clients: ReadonlyMap<string, NamedTarget>;
  readonly named: (clientId: string) => string;
}

const nameOf = (language: Language, { clientId, name }: NamedClient): string => shownName(language, name ?? clientId);

function agentCard(print: Print, card: AgentCard, index: number): Markup {
  const { agents: texts } = print.texts;
  const { agent, held, lastActed, pausedByUser, pausedByOperator } = card;
  const [name, member] = [print.named(agent.clientId), ["agent", agent.clientId] as const];
  return html`<section class="card" aria-labelledby="agent-${index}">
<h2 id="agent-${index}"><bdi>${name}</bdi>${standing(texts, card)}</h2>
${agent.clientId !== name && html`<p class="small"><span class="host">${shownText(agent.clientId)}</span></p>`}
${pausedByOperator !== undefined && html`<p>${texts.pausedByOperator} ${moment(print.language, pausedByOperator.pausedAt)}</p>`}
${pausedByUser !== undefined && html`<p>${texts.pausedByYou} ${moment(print.language, pausedByUser.pausedAt)}</p>`}
${held.length === 0 && html`<p class="empty">${texts.holdsNothing}</p>${lastActed !== null && html`<p class="small">${texts.lastActed} ${moment(print.language, lastActed)}</p>`}`}
${held.length > 0 && html`<ul class="applications">${held.map((delegation) => delegationItem(print, delegation))}</ul>`}
<div class="actions">
${pausedByUser === undefined ? form(print, "pause", member, texts.pause, texts.pauseNamed(name)) : form(print, "resume", member, texts.resume, texts.resumeNamed(name))}
${held.length > 0 && form(print, "end", member, texts.endAll, texts.endAllOf(name))}
</div>
</section>`;
}

function standing(texts: Texts["agents"], { held, pausedByUser, pausedByOperator }: AgentCard): Part {
  if (pausedByUser !== undefined || pausedByOperator !== undefined) return html` <span class="tag tag-new">${texts.paused}</span>`;
  if (held.some(({ ended }) => ended === null)) return html` <span class="tag tag-good">${texts.acts}</span>`;
  return held.length > 0 && html` <span class="tag tag-new">${texts.pausedAbove}</span>`;
}

function delegationItem(print: Print, delegation: Delegation): Markup {
  const { language, described, clients, targets, named } = print;
  const { agents: texts } = print.texts;
  const { id, kind, application, chain, scopes, audience, issuedAt, expiresAt, ended } = delegation;
  const places = audience
    .filter((value) => !clients.has(value) && URL.canParse(value))
    .map((resource) => shownTarget(language, resource, targets));
  const others = mayHandOnTo(delegation, clients).map(named);
  const before = chain.slice(0, -1).map(named);
  return html`<li>
<div class="application">
<h3>${places.length === 0 ? texts.onlyHandsOn : html`${print.texts.words.worksWith} <span class="host">${places.join(", ")}</span>`}</h3>
<p class="application-scopes">${scopes.map((scope) => scopeWords(language, scope, described).title).join(" · ")}</p>
<p class="small">${texts.startedBy} <bdi>${nameOf(language, application)}</bdi>${before.length > 0 && html`, ${texts.handedOnBy} <bdi>${shownList(language, before)}</bdi>`}</p>
${others.length > 0 && html`<p class="small">${texts.mayHandOnTo} <bdi>${shownList(language, others)}</bdi></p>`}
<p class="small">${texts.since} ${moment(print.language, issuedAt)}, ${texts.until} ${moment(print.language, expiresAt)}</p>
${ended?.reason === "paused_above" && html`<p class="small">${texts.waits}</p>`}
${kind === "id_jag" && html`<p class="small">${texts.assertion}</p>`}
</div>
${form(print, "end", ["delegation", id], texts.end, texts.endAt(named(delegation.agent.clientId), places[0] ?? nameOf(language, application)))}
</li>`;
}

/** A form with one button. @param label distinguishes the button from others with the same text */
const form = (
  { site, token }: Print,
  act: "end" | "pause" | "resume",
  member: readonly ["delegation" | "agent", string],
  words: string,
  label: string,
): Markup => buttonForm(site.path(`/account/agents/${act}`), token, { words, label, member });

/** One agent as the user sees it. Times in seconds since the epoch. */
export interface AgentCard {
  readonly agent: NamedClient;
  /** Its delegations that are active, or would be if no agent were paused. */
  readonly held: readonly Delegation[];
  /** When it last got a token; null where that is more than a day ago. */
  readonly lastActed: number | null;
  /** The user's pause, and the operators' pause for all users. */
  readonly pausedByUser: AgentPause | undefined;
  readonly pausedByOperator: AgentPause | undefined;
}

/** Whether a delegation is active, or would be if neither its agent nor an earlier one were paused. */
const isHeld = ({ ended }: Delegation): boolean => ended === null || ended.reason === "agent_paused" || ended.reason === "paused_above";

/**
 * The agents that could exchange this token: none where the chain is full, or for an assertion, which another server accepts. Pure.
 * @param targets the clients among its audience
 */
export function mayHandOnTo(
  { kind, chain, audience, agent }: Pick<Delegation, "kind" | "chain" | "audience" | "agent">,
  targets: ReadonlyMap<string, Parameters<typeof mayExchange>[0]>,
): readonly string[] {
  if (kind === "id_jag" || chain.length >= MAX_ACTORS) return [];
  return audience.filter((value) => {
    const target = targets.get(value);
    return value !== agent.clientId && target !== undefined && mayExchange(target);
  });
}

/**
 * A card for each agent that acts for the user, did so within a day, or is paused: agents with active delegations first, then the latest.
 * Pure.
 * @param delegations in any order; duplicates count once
 * @param pauses that apply to the user
 */
export function agentCards(delegations: readonly Delegation[], pauses: readonly AgentPause[]): readonly AgentCard[] {
  const known = [...new Map(delegations.map((delegation) => [delegation.id, delegation])).values()];
  const agents = new Map([...known, ...pauses].map(({ agent }) => [agent.clientId, agent]));
  const cards = [...agents.values()].map((agent): AgentCard => {
    const own = known.filter((delegation) => delegation.agent.clientId === agent.clientId).sort((a, b) => b.issuedAt - a.issuedAt);
    const paused = pauses.filter((pause) => pause.agent.clientId === agent.clientId);
    return {
      agent,
      held: own.filter(isHeld),
      lastActed: own[0]?.issuedAt ?? null,
      pausedByUser: paused.find(({ userId }) => userId !== null),
      pausedByOperator: paused.find(({ userId }) => userId === null),
    };
  });
  const rank = ({ held, lastActed }: AgentCard): readonly [boolean, number] => [held.length > 0, lastActed ?? 0];
  return cards.sort((one, other) => {
    const [[a, b], [c, d]] = [rank(one), rank(other)];
    return Number(c) - Number(a) || d - b || one.agent.clientId.localeCompare(other.agent.clientId);
  });
}
