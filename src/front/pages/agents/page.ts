import { cutOwnDelegations, pauseForUser, resumeForUser } from "../../../accounts/agents.ts";
import type { Handler } from "../../http/routes.ts";
import { languageOf } from "../../texts/language.ts";
import { callerOf } from "../../user-ports.ts";
import { accountForm, accountPageHandler } from "../account-page.ts";
import type { PageKit } from "../kit.ts";
import { sendPage } from "../views/layout.ts";
import { agentCards, namedIn } from "./cards.ts";
import { agentsView } from "./view.ts";

/** Delegations and pauses of one page: what counts, and beside it what was lately. */
const MOST = 200;

/** GET /account/agents: who acts for the person, where, with which permissions, until when. */
export const agentsPage = (kit: PageKit): Handler =>
  accountPageHandler(kit, async (ctx, { signedIn: { user }, token, done }) => {
    const { delegations, agentPauses, scopeDescriptions } = kit.ports;
    const her = { kind: "user", userId: user.id } as const;
    const [live, lately, pauses] = await Promise.all([
      delegations.list(her, { live: true }, MOST),
      delegations.list(her, {}, MOST),
      agentPauses.list(her, {}, MOST),
    ]);
    const all = [...live.items, ...lately.items];
    const described = await scopeDescriptions.of(user.realmId, [...new Set(all.flatMap(({ scopes }) => scopes))]);
    const targets = await kit.ports.namedTargets(namedIn(all));
    const cards = agentCards(all, pauses.items);
    sendPage(ctx, agentsView(kit.site, languageOf(ctx), { cards, targets, complete: live.next === null, described, token, done }));
  });

/** POST /account/agents/end: one thing that an agent holds, or with `agent` all of it. */
export const endAgentPage = (kit: PageKit): Handler =>
  accountForm(kit, async (ctx, form, { user }) => {
    const agent = form.get("agent");
    const what =
      agent === undefined
        ? ({ kind: "delegation", id: form.get("delegation") ?? "" } as const)
        : ({ kind: "agent", clientId: agent } as const);
    await cutOwnDelegations(what, user.id, kit.ports, callerOf(ctx));
    return "/account/agents?done=ended";
  });

/** POST /account/agents/pause */
export const pauseAgentPage = (kit: PageKit): Handler =>
  accountForm(kit, async (ctx, form, { user }) => {
    await pauseForUser(form.get("agent") ?? "", user.id, kit.ports, callerOf(ctx));
    return "/account/agents?done=paused";
  });

/** POST /account/agents/resume */
export const resumeAgentPage = (kit: PageKit): Handler =>
  accountForm(kit, async (ctx, form, { user }) => {
    const agent = form.get("agent") ?? "";
    await resumeForUser(agent, user.id, kit.ports, callerOf(ctx));
    const { items } = await kit.ports.agentPauses.list({ kind: "user", userId: user.id }, { agent }, 1);
    return `/account/agents?done=${items.length === 0 ? "resumed" : "stillPaused"}`;
  });
