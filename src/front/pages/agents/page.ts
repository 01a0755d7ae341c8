import { cutOwnDelegations, pauseForUser, resumeForUser } from "../../../accounts/delegations.ts";
import { donePath } from "../../done.ts";
import { callerOf } from "../../http/address.ts";
import { languageOf } from "../../http/language.ts";
import type { Handler } from "../../http/routes.ts";
import { accountForm, accountPageHandler, type PageKit } from "../kit.ts";
import { sendPage } from "../views/layout.ts";
import { withRecords } from "../views/words.ts";
import { agentCards, namedIn } from "./cards.ts";
import { agentsView } from "./view.ts";

const PATH = "/account/agents";

/** Active delegations, recent ones and pauses that one page lists, each at most. */
const PAGE_LIMIT = 200;

/** GET /account/agents: which agents act for the user, where, with which permissions, until when. */
export const agentsPage = (kit: PageKit): Handler =>
  accountPageHandler(kit, async (ctx, { signedIn: { user }, token, done }) => {
    const { delegations, agentPauses, scopeDescriptions } = kit.ports;
    const owner = { kind: "user", userId: user.id } as const;
    const [live, lately, pauses] = await Promise.all([
      delegations.list(owner, { live: true }, { limit: PAGE_LIMIT }),
      delegations.list(owner, {}, { limit: PAGE_LIMIT }),
      agentPauses.list(owner, {}, { limit: PAGE_LIMIT }),
    ]);
    const all = [...live.items, ...lately.items];
    const [described, clients, records] = await Promise.all([
      scopeDescriptions.of(user.realmId, [...new Set(all.flatMap(({ scopes }) => scopes))]),
      kit.ports.namedTargets(namedIn(all)),
      kit.ports.resources.shown(user.realmId, [...new Set(all.flatMap(({ audience }) => audience))]),
    ]);
    const cards = agentCards(all, pauses.items);
    const worded = withRecords(records, { described, targets: clients });
    sendPage(ctx, agentsView(kit.site, languageOf(ctx), { cards, clients, ...worded, complete: live.next === null, token, done }));
  });

/** POST /account/agents/end: stops one delegation, or with `agent` all of an agent. */
export const endAgentPage = (kit: PageKit): Handler =>
  accountForm(kit, async (ctx, form, { user }) => {
    const agent = form.get("agent");
    const what =
      agent === undefined
        ? ({ kind: "delegation", id: form.get("delegation") ?? "" } as const)
        : ({ kind: "agent", clientId: agent } as const);
    await cutOwnDelegations(what, user.id, kit.ports, callerOf(ctx));
    return donePath(kit, ctx, PATH, "ended");
  });

export const pauseAgentPage = (kit: PageKit): Handler =>
  accountForm(kit, async (ctx, form, { user }) => {
    await pauseForUser(form.get("agent") ?? "", user.id, kit.ports, callerOf(ctx));
    return donePath(kit, ctx, PATH, "paused");
  });

export const resumeAgentPage = (kit: PageKit): Handler =>
  accountForm(kit, async (ctx, form, { user }) => {
    const agent = form.get("agent") ?? "";
    await resumeForUser(agent, user.id, kit.ports, callerOf(ctx));
    const { items } = await kit.ports.agentPauses.list({ kind: "user", userId: user.id }, { agent }, { limit: 1 });
    return donePath(kit, ctx, PATH, items.length === 0 ? "resumed" : "stillPaused");
  });
