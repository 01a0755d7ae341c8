import type { Delegation, NamedClient } from "../../../accounts/delegations.ts";
import type { NamedTarget } from "../../../clients/client.ts";
import { catalogue, type Language, shownList } from "../../texts/language.ts";
import { type AccountPage, accountFrame, buttonForm, doneWords, html, type Markup, moment, type Part, type Site } from "../views/layout.ts";
import { type Described, scopeWords, shownName, shownResource, shownText } from "../views/words.ts";
import { type AgentCard, mayHandOnTo } from "./cards.ts";

export interface AgentsPage extends Pick<AccountPage, "token" | "done"> {
  readonly cards: readonly AgentCard[];
  /** The clients that are named by client_id. */
  readonly targets: ReadonlyMap<string, NamedTarget>;
  /** Whether all active delegations are shown. */
  readonly complete: boolean;
  readonly described: Described;
}

/** What every part of the page needs. */
interface Print extends Pick<AgentsPage, "described" | "token" | "targets"> {
  readonly site: Site;
  readonly language: Language;
  readonly texts: AgentsTexts;
  /** The name of the agent with this client_id. */
  readonly named: (clientId: string) => string;
}

export function agentsView(site: Site, language: Language, { cards, targets, complete, described, token, done }: AgentsPage): Markup {
  const texts = agentsTexts[language];
  const names = new Map(cards.map(({ agent }) => [agent.clientId, nameOf(language, agent)]));
  const named = (id: string) => names.get(id) ?? shownName(language, targets.get(id)?.name ?? id);
  const print: Print = { site, language, texts, described, token, targets, named };
  return accountFrame(
    site,
    { language, path: "/account/agents", title: texts.title, done: doneWords(texts.done, done) },
    html`<p>${texts.intro}</p>
${cards.length === 0 ? html`<p class="empty">${texts.none}</p>` : cards.map((card, index) => agentCard(print, card, index))}
${!complete && html`<p class="small">${texts.more}</p>`}
${cards.length > 0 && html`<p class="small">${texts.hint}</p>`}`,
  );
}

const nameOf = (language: Language, { clientId, name }: NamedClient): string => shownName(language, name ?? clientId);

function agentCard(print: Print, card: AgentCard, index: number): Markup {
  const { texts } = print;
  const { agent, held, lastActed, pausedByUser, pausedByOperator } = card;
  return html`<section class="card" aria-labelledby="agent-${index}">
<h2 id="agent-${index}"><bdi>${print.named(agent.clientId)}</bdi>${standing(texts, card)}</h2>
${agent.clientId !== print.named(agent.clientId) && html`<p class="small"><span class="host">${shownText(agent.clientId)}</span></p>`}
${pausedByOperator !== undefined && html`<p>${texts.pausedByOperator} ${moment(print.language, pausedByOperator.pausedAt)}</p>`}
${pausedByUser !== undefined && html`<p>${texts.pausedByYou} ${moment(print.language, pausedByUser.pausedAt)}</p>`}
${held.length === 0 && html`<p class="empty">${texts.holdsNothing}${lastActed !== null && html` ${texts.lastActed} ${moment(print.language, lastActed)}`}</p>`}
${held.length > 0 && html`<ul class="applications">${held.map((delegation) => delegationItem(print, delegation))}</ul>`}
<div class="actions">
${pauseForm(print, card)}
${held.length > 0 && endAllForm(print, agent)}
</div>
</section>`;
}

/** The status of the agent as a tag. */
function standing(texts: AgentsTexts, { held, pausedByUser, pausedByOperator }: AgentCard): Part {
  if (pausedByUser !== undefined || pausedByOperator !== undefined) return html` <span class="tag tag-new">${texts.paused}</span>`;
  if (held.some(({ ended }) => ended === null)) return html` <span class="tag tag-good">${texts.acts}</span>`;
  return held.length > 0 && html` <span class="tag tag-new">${texts.pausedAbove}</span>`;
}

function delegationItem(print: Print, delegation: Delegation): Markup {
  const { language, texts, described, targets, named } = print;
  const { id, kind, application, chain, scopes, audience, issuedAt, expiresAt, ended } = delegation;
  const places = audience.filter((value) => !targets.has(value) && URL.canParse(value)).map(shownResource);
  const others = mayHandOnTo(delegation, targets).map(named);
  const before = chain.slice(0, -1).map(named);
  return html`<li>
<div class="application">
<h3>${places.length === 0 ? texts.onlyHandsOn : html`${texts.worksWith} <span class="host">${places.join(", ")}</span>`}</h3>
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

const pauseForm = (print: Print, { agent: { clientId }, pausedByUser }: AgentCard): Part => {
  const { texts, named } = print;
  return pausedByUser === undefined
    ? form(print, "pause", ["agent", clientId], texts.pause, texts.pauseNamed(named(clientId)))
    : form(print, "resume", ["agent", clientId], texts.resume, texts.resumeNamed(named(clientId)));
};

const endAllForm = (print: Print, { clientId }: NamedClient): Markup =>
  form(print, "end", ["agent", clientId], print.texts.endAll, print.texts.endAllOf(print.named(clientId)));

/** A form with one button. @param label distinguishes the button from others with the same text */
const form = (
  { site, token }: Print,
  act: "end" | "pause" | "resume",
  member: readonly ["delegation" | "agent", string],
  words: string,
  label: string,
): Markup => buttonForm(site.path(`/account/agents/${act}`), token, { words, label, member });

const agentsTexts = catalogue({
  en: {
    title: "Agents that act for you",
    done: {
      ended: "Access stopped. The agent can get new access if an app asks it again; pause it to prevent that.",
      paused: "The agent is paused. It cannot act for you until you resume it.",
      resumed: "The agent can act for you again.",
      stillPaused: "You have resumed the agent. The operators of this service still pause it for all users.",
    },
    intro: "Programs that act for you because an app you allowed asked them to. What you stop or pause here stops at once, everywhere.",
    none: "No agent is acting for you. Agents appear here when an app you allowed hands them a task.",
    more: "There is more than is shown here. Stop all also stops what is not shown.",
    acts: "Acts for you",
    paused: "Paused",
    pausedAbove: "Waiting for a paused agent",
    /** About one delegation. */
    waits: "Does not work while the agent that passed it on is paused.",
    /** Before the day. */
    pausedByYou: "Paused by you on",
    pausedByOperator: "Paused for all users by the operators of this service on",
    holdsNothing: "No active access",
    lastActed: "Last active",
    /** Before the resources that the access works with. */
    worksWith: "Works with",
    onlyHandsOn: "Only passes work on",
    /** Before the application that the user allowed. */
    startedBy: "Started by",
    handedOnBy: "passed on by",
    mayHandOnTo: "Can pass work on to",
    since: "Since",
    until: "until",
    assertion: "A statement for another service about who you are. Stop the access that it gave there in that service.",
    end: "Stop this access",
    endAt: (agent: string, place: string) => `Stop this access of ${agent} to ${place}`,
    endAll: "Stop all",
    endAllOf: (agent: string) => `Stop all access of ${agent}`,
    pause: "Pause",
    pauseNamed: (agent: string) => `Pause ${agent}`,
    resume: "Resume",
    resumeNamed: (agent: string) => `Resume ${agent}`,
    hint: "Access of a paused agent works again when you resume it, unless it has expired. Access that you stop does not come back, but the agent can get new access.",
  },
  de: {
    title: "Agenten, die für Sie handeln",
    done: {
      ended:
        "Zugriff beendet. Der Agent kann neuen Zugriff erhalten, wenn eine App ihn wieder beauftragt; halten Sie ihn an, um das zu verhindern.",
      paused: "Der Agent ist angehalten. Er kann nicht für Sie handeln, bis Sie ihn fortfahren lassen.",
      resumed: "Der Agent kann wieder für Sie handeln.",
      stillPaused: "Sie halten den Agenten nicht mehr an. Die Betreiber dieses Dienstes halten ihn weiter für alle an.",
    },
    intro:
      "Programme, die für Sie handeln, weil eine von Ihnen erlaubte App sie beauftragt hat. Was Sie hier beenden oder anhalten, endet sofort und überall.",
    none: "Kein Agent handelt für Sie. Agenten erscheinen hier, wenn eine von Ihnen erlaubte App sie beauftragt.",
    more: "Es gibt mehr, als hier steht. „Alle beenden“ beendet auch, was hier nicht steht.",
    acts: "Handelt für Sie",
    paused: "Angehalten",
    pausedAbove: "Wartet auf einen angehaltenen Agenten",
    waits: "Gilt nicht, solange der Agent angehalten ist, der es weitergegeben hat.",
    pausedByYou: "Von Ihnen angehalten am",
    pausedByOperator: "Von den Betreibern dieses Dienstes für alle angehalten am",
    holdsNothing: "Kein aktiver Zugriff",
    lastActed: "Zuletzt aktiv",
    worksWith: "Gilt bei",
    onlyHandsOn: "Gibt Aufgaben nur weiter",
    startedBy: "Gestartet von",
    handedOnBy: "weitergegeben von",
    mayHandOnTo: "Kann Aufgaben weitergeben an",
    since: "Seit",
    until: "bis",
    assertion:
      "Eine Aussage für einen anderen Dienst darüber, wer Sie sind. Beenden Sie den Zugriff, der daraus entstand, bei jenem Dienst.",
    end: "Zugriff beenden",
    endAt: (agent, place) => `Zugriff beenden: ${agent} auf ${place}`,
    endAll: "Alle beenden",
    endAllOf: (agent) => `Alle beenden: Zugriffe von ${agent}`,
    pause: "Anhalten",
    pauseNamed: (agent) => `${agent} anhalten`,
    resume: "Fortfahren lassen",
    resumeNamed: (agent) => `${agent} fortfahren lassen`,
    hint: "Zugriffe eines angehaltenen Agenten gelten wieder, wenn Sie ihn fortfahren lassen, sofern sie nicht abgelaufen sind. Beendete Zugriffe kommen nicht zurück, der Agent kann aber neue erhalten.",
  },
});

type AgentsTexts = (typeof agentsTexts)["en"];
