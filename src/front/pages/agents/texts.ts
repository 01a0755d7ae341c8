import type { Catalogue } from "../../texts/language.ts";

export interface AgentsTexts {
  readonly title: string;
  readonly done: { readonly ended: string; readonly paused: string; readonly resumed: string; readonly stillPaused: string };
  readonly intro: string;
  readonly none: string;
  readonly more: string;
  readonly acts: string;
  readonly paused: string;
  readonly pausedAbove: string;
  /** Of one thing that an agent holds. */
  readonly waits: string;
  /** Before the day. */
  readonly pausedByYou: string;
  readonly pausedByOperator: string;
  readonly holdsNothing: string;
  readonly lastActed: string;
  /** Before the places where it may act. */
  readonly at: string;
  readonly onlyHandsOn: string;
  /** Before the application that the person allowed. */
  readonly through: string;
  readonly handedOnBy: string;
  readonly mayHandOnTo: string;
  readonly since: string;
  readonly until: string;
  readonly assertion: string;
  readonly end: string;
  readonly endAt: (agent: string, place: string) => string;
  readonly endAll: string;
  readonly endAllOf: (agent: string) => string;
  readonly pause: string;
  readonly pauseNamed: (agent: string) => string;
  readonly resume: string;
  readonly resumeNamed: (agent: string) => string;
  readonly hint: string;
}

export const agentsTexts: Catalogue<AgentsTexts> = {
  en: {
    title: "Agents that act for you",
    done: {
      ended: "Ended: what it held in your name counts no more. Asked again it may begin anew; pause it to keep it from that.",
      paused: "The agent is paused. It does nothing for you until you resume it.",
      resumed: "The agent may act for you again.",
      stillPaused: "Your pause is lifted. The agent stays paused for everybody, by those who run this service.",
    },
    intro:
      "Programs that act in your name, because an application that you allowed asked them to. What you end or pause here stops at once, everywhere.",
    none: "No agent acts for you, nor has one within the last day.",
    more: "There is more than is shown here. Ending everything that an agent holds ends what is not shown too.",
    acts: "Acts for you",
    paused: "Paused",
    pausedAbove: "Paused above",
    waits: "Does not count while an agent before it is paused.",
    pausedByYou: "Paused by you on",
    pausedByOperator: "Paused for everybody, by those who run this service, on",
    holdsNothing: "Holds nothing of yours at the moment.",
    lastActed: "Last got something on",
    at: "At",
    onlyHandsOn: "At no place of its own",
    through: "Through",
    handedOnBy: "handed on by",
    mayHandOnTo: "May hand on to",
    since: "Since",
    until: "until",
    assertion: "A statement of who you are, for another service. What that service made of it is to be ended there.",
    end: "End",
    endAt: (agent, place) => `End what ${agent} does at ${place}`,
    endAll: "End everything",
    endAllOf: (agent) => `End everything that ${agent} does for you`,
    pause: "Pause",
    pauseNamed: (agent) => `Pause ${agent}`,
    resume: "Resume",
    resumeNamed: (agent) => `Resume ${agent}`,
    hint: "What a paused agent holds counts again when you resume it, if it has not run out. What you end does not come back; the agent may be given something new.",
  },
  de: {
    title: "Agenten, die für Sie handeln",
    done: {
      ended:
        "Beendet: Was er in Ihrem Namen hatte, gilt nicht mehr. Wieder gebeten, kann er neu beginnen; pausieren Sie ihn, um das zu verhindern.",
      paused: "Der Agent pausiert. Er tut nichts für Sie, bis Sie ihn fortfahren lassen.",
      resumed: "Der Agent darf wieder für Sie handeln.",
      stillPaused: "Sie halten ihn nicht mehr an. Die Betreiber dieses Dienstes halten den Agenten weiter für alle an.",
    },
    intro:
      "Programme, die in Ihrem Namen handeln, weil eine von Ihnen erlaubte Anwendung sie darum gebeten hat. Was Sie hier beenden oder anhalten, hört sofort und überall auf.",
    none: "Kein Agent handelt für Sie, und keiner hat es am letzten Tag getan.",
    more: "Es gibt mehr, als hier steht. Alles zu beenden, was ein Agent hat, beendet auch das, was hier nicht steht.",
    acts: "Handelt für Sie",
    paused: "Pausiert",
    pausedAbove: "Weiter oben pausiert",
    waits: "Gilt nicht, solange ein Agent davor pausiert.",
    pausedByYou: "Von Ihnen angehalten am",
    pausedByOperator: "Von den Betreibern dieses Dienstes für alle angehalten am",
    holdsNothing: "Hat zurzeit nichts von Ihnen.",
    lastActed: "Erhielt zuletzt etwas am",
    at: "Bei",
    onlyHandsOn: "An keinem eigenen Ort",
    through: "Über",
    handedOnBy: "weitergegeben von",
    mayHandOnTo: "Darf weitergeben an",
    since: "Seit",
    until: "bis",
    assertion: "Eine Aussage darüber, wer Sie sind, für einen anderen Dienst. Was jener daraus gemacht hat, ist dort zu beenden.",
    end: "Beenden",
    endAt: (agent, place) => `Beenden, was ${agent} bei ${place} tut`,
    endAll: "Alles beenden",
    endAllOf: (agent) => `Alles beenden, was ${agent} für Sie tut`,
    pause: "Anhalten",
    pauseNamed: (agent) => `${agent} anhalten`,
    resume: "Fortfahren lassen",
    resumeNamed: (agent) => `${agent} fortfahren lassen`,
    hint: "Was ein angehaltener Agent hat, gilt wieder, wenn Sie ihn fortfahren lassen und es nicht abgelaufen ist. Was Sie beenden, kommt nicht zurück; der Agent kann aber Neues erhalten.",
  },
};
