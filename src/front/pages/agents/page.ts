import { cutOwnDelegations, pauseForUser, resumeForUser } from "../../../accounts/delegations.ts";
import type { User } from "../../../accounts/ports.ts";
import type { Form } from "../../../protocol/form.ts";
import { TEXTS } from "../../../texts/languages.ts";
import { donePath } from "../../done.ts";
import { callerOf } from "../../http/address.ts";
import { languageOf } from "../../http/language.ts";
import type { FrontContext, Handler } from "../../http/routes.ts";
import { ACCOUNT_PURPOSE, accountForm, accountPageHandler, goneForm, type PageKit } from "../kit.ts";
import { type FailedForm, sendPage } from "../views/layout.ts";
import { withRecords } from "../views/words.ts";
import { agentCards, namedIn } from "./cards.ts";
import { type AgentsPage, agentsView } from "./view.ts";

const PATH = "/account/agents";

/** Active delegations, recent ones and pauses that one page lists, each at most. */
const PAGE_LIMIT = 200;

async function show(
  { ports, guard, site }: PageKit,
  ctx: FrontContext,
  user: User,
  { done, faults = [], status }: Partial<Pick<AgentsPage, "done">> & FailedForm,
): Promise<void> {
  const { delegations, agentPauses, scopeDescriptions } = ports;
  const owner = { kind: "user", userId: user.id } as const;
  const [live, lately, pauses] = await Promise.all([
    delegations.list(owner, { live: true }, { limit: PAGE_LIMIT }),
    delegations.list(owner, {}, { limit: PAGE_LIMIT }),
    agentPauses.list(owner, {}, { limit: PAGE_LIMIT }),
  ]);
  const all = [...live.items, ...lately.items];
  const [described, clients, records] = await Promise.all([
    scopeDescriptions.of(user.realmId, [...new Set(all.flatMap(({ scopes }) => scopes))]),
    ports.namedTargets(namedIn(all)),
    ports.resources.shown(user.realmId, [...new Set(all.flatMap(({ audience }) => audience))]),
  ]);
  const cards = agentCards(all, pauses.items);
  const worded = withRecords(records, { described, targets: clients });
  const page = { cards, clients, ...worded, complete: live.next === null, token: guard.token(ctx, ACCOUNT_PURPOSE), done, faults };
  sendPage(ctx, agentsView(site, languageOf(ctx), page), status);
}

/** GET /account/agents: which agents act for the user, where, with which permissions, until when. */
export const agentsPage = (kit: PageKit): Handler =>
  accountPageHandler(kit, (ctx, { signedIn: { user }, done }) => show(kit, ctx, user, { done }));

/** POST of a form that stops something, which may be gone since the page was shown. @param act returns the value of `done` */
const stopForm = (kit: PageKit, act: (ctx: FrontContext, form: Form, user: User) => Promise<string>): Handler =>
  accountForm(kit, async (ctx, form, { user }) => {
    try {
      return donePath(kit, ctx, PATH, await act(ctx, form, user));
    } catch (error) {
      await show(kit, ctx, user, goneForm(error, TEXTS[languageOf(ctx)].agents.gone));
      return undefined;
    }
  });

/** POST /account/agents/end: stops one delegation, or with `agent` all of an agent. */
export const endAgentPage = (kit: PageKit): Handler =>
  stopForm(kit, async (ctx, form, user) => {
    const agent = form.get("agent");
    const what =
      agent === undefined
        ? ({ kind: "delegation", id: form.get("delegation") ?? "" } as const)
        : ({ kind: "agent", clientId: agent } as const);
    await cutOwnDelegations(what, user.id, kit.ports, callerOf(ctx));
    return "ended";
  });

export const pauseAgentPage = (kit: PageKit): Handler =>
  stopForm(kit, async (ctx, form, user) => {
    await pauseForUser(form.get("agent") ?? "", user.id, kit.ports, callerOf(ctx));
    return "paused";
  });

export const resumeAgentPage = (kit: PageKit): Handler =>
  accountForm(kit, async (ctx, form, { user }) => {
    const agent = form.get("agent") ?? "";
    await resumeForUser(agent, user.id, kit.ports, callerOf(ctx));
    const { items } = await kit.ports.agentPauses.list({ kind: "user", userId: user.id }, { agent }, { limit: 1 });
    return donePath(kit, ctx, PATH, items.length === 0 ? "resumed" : "stillPaused");
  });
