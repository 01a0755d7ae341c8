import { catalogue } from "../../texts/language.ts";

export const agentsTexts = catalogue({
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

export type AgentsTexts = (typeof agentsTexts)["en"];
