import { describe, expect } from "vitest";
import { operatorAt } from "../support/admin.ts";
import { aBrowser, type Browser, formsOf, type Visit } from "../support/browser.ts";
import { runText } from "../support/database.ts";
import { CRM, MAIL, test } from "../support/delegation.ts";

const PATH = "/account/agents";

/** Submits the form of the button with this label. */
async function press(browser: Browser, page: Visit, label: string): Promise<Visit> {
  const blocks = [...page.html.matchAll(/<form\b[^>]*>[\s\S]*?<\/form>/g)].map(([text]) => text);
  const form = formsOf(page.html, page.url)[blocks.findIndex((text) => text.includes(`aria-label="${label}"`))];
  if (form === undefined) throw new Error(`no button ${label}: ${page.html.slice(page.html.indexOf("<main"))}`);
  const body = new URLSearchParams(form.fields);
  return browser.follow(form.action, { method: "POST", body, headers: { origin: new URL(page.url).origin } });
}

const textOf = ({ html }: Pick<Visit, "html">): string =>
  html
    .slice(html.indexOf("<main"))
    .replace(/<[^>]*>/g, " ")
    .replace(/\s+/g, " ");

describe("the page of a user's agents", () => {
  test("shows each agent with its resources, permissions, origin and expiry, in the user's language", async ({ server }) => {
    const { user, accessTokens } = await server.chainOf(["agent-1", "agent-2"]);
    const page = await user.browser.follow(PATH);
    expect([page.status, textOf(page)]).toEqual([200, expect.stringMatching(/Agents that act for you/)]);
    const text = textOf(page);
    expect(text).toContain("agent-1 Acts for you");
    expect(text).toMatch(
      /Works with crm\.example\.test\/mcp, mail\.example\.test\/mcp Know who you are · crm:read · crm:write Started by web Can pass work on to agent-2 Since/,
    );
    expect(text).toMatch(/Started by web , passed on by agent-1/);
    expect(text).toMatch(/Since \d+ \w+ \d{4} at \d\d:\d\d UTC , until \d+ \w+ \d{4} at \d\d:\d\d UTC/);
    expect(page.html).toContain('<a href="/account/agents" aria-current="page">Agents</a>');
    expect(await server.active(accessTokens.at(-1)!)).toBe(true);
    const german = aBrowser(server.url, { "accept-language": "de" });
    await german.json("/auth/login", { email: user.email, password: "correct horse battery staple" });
    expect(textOf(await german.follow(PATH))).toMatch(
      /Agenten, die für Sie handeln .*agent-1 Handelt für Sie .*Gestartet von web .*Anhalten/,
    );
  });

  test("shows no agents of other users, and requires a session", async ({ server }) => {
    await server.chainOf(["agent-1"]);
    const other = await server.signedInUser();
    expect(textOf(await other.browser.follow(PATH))).toContain(
      "No agent is acting for you through an app. Agents appear here when an app you allowed hands them a task.",
    );
    expect((await aBrowser(server.url).follow(PATH)).url).toBe(`${server.url}/login?next=%2Faccount%2Fagents`);
  });

  test("stopping one access revokes it and all below it, and nothing else", async ({ server }) => {
    const { user, subject } = await server.subjectFor(["agent-1", "agent-2"]);
    const at = async (agent: string, token: string, resource: string[]) =>
      (await server.exchange(agent, token, { resource })).body.access_token;
    const crm = await at("agent-1", subject, [CRM, "agent-2"]);
    const mail = await at("agent-1", subject, [MAIL, CRM]);
    const below = await at("agent-2", crm, [CRM]);
    const page = await user.browser.follow(PATH);
    const ended = await press(user.browser, page, "Stop this access of agent-1 to crm.example.test/mcp");
    expect([ended.url, textOf(ended)]).toEqual([
      expect.stringContaining(`${server.url}${PATH}?done=ended.`),
      expect.stringContaining("Access stopped."),
    ]);
    const states = await Promise.all([crm, below, mail].map(server.active));
    expect(states.filter((active) => active)).toHaveLength(1);
    expect([states[0], states[2]].toSorted()).toEqual([false, true]);
    expect(states[1]).toBe(states[0]);
  });

  test("stopping all access of an agent revokes its tokens for that user only", async ({ server }) => {
    const [mine, theirs] = [await server.chainOf(["agent-1", "agent-3"]), await server.chainOf(["agent-1"])];
    const page = await press(mine.user.browser, await mine.user.browser.follow(PATH), "Stop all access of agent-1");
    expect(await Promise.all([...mine.accessTokens, theirs.accessTokens[1]!].map(server.active))).toEqual([true, false, false, true]);
    expect(page.html).toMatch(/<p class="empty">No active access<\/p>\s*<p class="small">Last active /);
  });

  test("pausing an agent stops it for that user only, until it is resumed", async ({ server }) => {
    const [mine, theirs] = [await server.chainOf(["agent-4"]), await server.chainOf(["agent-4"])];
    const { browser } = mine.user;
    const paused = await press(browser, await browser.follow(PATH), "Pause agent-4");
    expect(textOf(paused)).toMatch(/The agent is paused\. .* agent-4 Paused Paused by you \d/);
    expect(await Promise.all([mine.accessTokens[1]!, theirs.accessTokens[1]!].map(server.active))).toEqual([false, true]);
    expect((await server.exchange("agent-4", mine.accessTokens[0]!)).body).toEqual({ error: "unauthorized_client" });
    expect((await server.exchange("agent-4", theirs.accessTokens[0]!)).status).toBe(200);
    const resumed = await press(browser, paused, "Resume agent-4");
    expect(textOf(resumed)).toMatch(/The agent can act for you again\. .* agent-4 Acts for you/);
    expect(await server.active(mine.accessTokens[1]!)).toBe(true);
  });

  test("the data of a user name the agents that acted for them, and those that they paused, without those of the operators", async ({
    server,
  }) => {
    const { user, accessTokens } = await server.chainOf(["agent-1", "agent-2"]);
    const { browser } = user;
    expect((await server.exchange("agent-1", accessTokens[0]!, { resource: [CRM, "agent-2"], scope: "crm:read" })).status).toBe(200);
    await press(browser, await browser.follow(PATH), "Pause agent-2");
    await (await operatorAt(server.url)).agents.pause.mutate({ clientId: "agent-1", reason: "looks stolen" });
    const text = await (await browser.request("/account/data")).text();
    const time = expect.any(Number);
    const { agents, pausedAgents } = JSON.parse(text);
    const access = { application: "web", scopes: ["crm:read", "crm:write", "openid"], resources: ["agent-1", "agent-2", CRM, MAIL] };
    const times = { firstIssuedAt: time, lastIssuedAt: time, expiresAt: time };
    expect(agents).toEqual([
      { ...access, ...times, agent: "agent-1" }, // twice, and each is named once
      { ...access, ...times, agent: "agent-2" },
    ]);
    expect(pausedAgents).toEqual([{ agent: "agent-2", pausedAt: time }]);
    expect(text).not.toContain("looks stolen");
    await (await operatorAt(server.url)).agents.resume.mutate({ clientId: "agent-1" });
    await press(browser, await browser.follow(PATH), "Resume agent-2"); // other tests expect no pause
  });

  test("a pause by operators is shown, and the user cannot end it", async ({ server }) => {
    const { user, accessTokens } = await server.chainOf(["agent-5"]);
    const { agents } = await operatorAt(server.url);
    await agents.pause.mutate({ clientId: "agent-5" });
    const { browser } = user;
    const page = await browser.follow(PATH);
    expect(textOf(page)).toMatch(/agent-5 Paused Paused for all users by the operators of this service \d/);
    await press(browser, await press(browser, page, "Pause agent-5"), "Resume agent-5");
    expect(await server.active(accessTokens[1]!)).toBe(false);
    await press(browser, await browser.follow(PATH), "Pause agent-5");
    const lifted = textOf(await press(browser, await browser.follow(PATH), "Resume agent-5"));
    expect(lifted).toContain("You have resumed the agent. The operators of this service still pause it for all users.");
    expect(lifted).not.toContain("can act for you again");
    await agents.resume.mutate({ clientId: "agent-5" });
    expect(await server.active(accessTokens[1]!)).toBe(true);
  });

  test("tokens below a paused agent are inactive, and their agents are shown as waiting", async ({ server }) => {
    const { user, accessTokens } = await server.chainOf(["agent-1", "agent-3"]);
    const { browser } = user;
    const paused = await press(browser, await browser.follow(PATH), "Pause agent-1");
    expect(textOf(paused)).toMatch(
      /agent-3 Waiting for a paused agent .*Works with crm\.example\.test\/mcp.*Does not work while the agent that passed it on is paused\./,
    );
    expect(textOf(paused)).not.toContain("No active access");
    expect(await server.active(accessTokens[2]!)).toBe(false);
    const resumed = textOf(await press(browser, paused, "Resume agent-1"));
    expect(resumed).toContain("agent-3 Acts for you");
    expect(resumed).not.toContain("Does not work");
    expect(await server.active(accessTokens[2]!)).toBe(true);
  });

  test("names the agents that may receive work by token exchange, until the chain has four actors", async ({ server }) => {
    const { user, subject } = await server.subjectFor(["agent-1", "agent-2", "agent-3", "agent-4", "not-agent", "agent-without-grant"]);
    const { agents } = await operatorAt(server.url);
    const [helper] = (await (await operatorAt(server.url)).clients.list.query({ search: "agent-4" })).clients;
    await (await operatorAt(server.url)).clients.update.mutate({ id: helper?.id ?? "", patch: { name: "Meeting & notes helper" } });
    expect((await agents.pauses.query({})).pauses).toEqual([]);
    const first = (await server.exchange("agent-1", subject)).body.access_token;
    const page = await user.browser.follow(PATH);
    expect(textOf(page)).toContain("Can pass work on to agent-2, agent-3 and Meeting &amp; notes helper Since");
    let token = first;
    for (const agent of ["agent-2", "agent-3", "agent-2"]) token = (await server.exchange(agent, token)).body.access_token;
    expect((await server.exchange("agent-4", token)).status).toBe(400);
    const deep = textOf(await user.browser.follow(PATH)).split("Started by web , passed on by agent-1, agent-2 and agent-3")[1];
    expect(deep).toMatch(/^ Since/);
    await (await operatorAt(server.url)).clients.update.mutate({ id: helper?.id ?? "", patch: { name: "agent-4" } });
  });

  test("every action writes one audit record of the user", async ({ server }) => {
    const { user } = await server.chainOf(["agent-1"]);
    const { browser } = user;
    const page = await browser.follow(PATH);
    for (const label of ["Pause agent-1", "Stop all access of agent-1"]) await press(browser, page, label);
    await press(browser, await browser.follow(PATH), "Resume agent-1");
    const { records } = await (await operatorAt(server.url)).audit.list.query({ actorId: user.id, clientId: "agent-1" });
    expect(records.map(({ event, userId }) => [event, userId])).toEqual(
      ["agent.resumed", "delegation.cut", "agent.paused"].map((event) => [event, user.id]),
    );
    expect(records.every(({ requestId }) => requestId !== undefined)).toBe(true);
  });

  test.for([
    ["end", { delegation: "01900000-0000-7000-8000-000000000001" }],
    ["end", { delegation: "x" }],
    ["end", {}],
    ["end", { agent: "unknown" }],
    ["pause", { agent: "unknown" }],
    ["pause", { agent: "web" }],
    ["pause", {}],
  ] as const)("returns 404 to %s %j, which names nothing of the user", async ([act, fields], { server }) => {
    const { user } = await server.chainOf(["agent-1"]);
    const [form] = formsOf((await user.browser.follow(PATH)).html, server.url);
    const body = new URLSearchParams({ form_token: form?.fields.form_token ?? "", ...fields });
    const answer = await user.browser.request(`${PATH}/${act}`, { method: "POST", body, headers: { origin: server.url } });
    expect([answer.status, textOf({ html: await answer.text() })]).toEqual([404, expect.stringContaining("there is nothing to stop")]);
  });

  test("shows the page as it is now to a user who stops, in an old tab, what was swept since", async ({ server }) => {
    const { user } = await server.chainOf(["agent-1"]);
    const page = await user.browser.follow(PATH);
    await runText(server.database.sql, "delete from delegations where user_id = $1::uuid", [user.id]);
    const gone = await press(user.browser, page, /aria-label="(Stop this access of agent-1[^"]*)"/.exec(page.html)?.[1] ?? "");
    expect(textOf(gone)).toMatch(
      /Agents that act for you .*That access or agent is gone, so there is nothing to stop\..*No agent is acting for you/,
    );
  });

  test("another user's delegation returns 404, and a form without its token 403", async ({ server }) => {
    const [mine, theirs] = [await server.chainOf(["agent-1"]), await server.chainOf(["agent-1"])];
    const [foreign] = formsOf((await theirs.user.browser.follow(PATH)).html, server.url).filter(({ fields }) => "delegation" in fields);
    const [own] = formsOf((await mine.user.browser.follow(PATH)).html, server.url);
    const post = async (path: string, fields: Record<string, string>) => {
      const init = { method: "POST", body: new URLSearchParams(fields), headers: { origin: server.url } };
      return (await mine.user.browser.request(`${PATH}/${path}`, init)).status;
    };
    const delegation = foreign?.fields.delegation ?? "";
    expect(delegation).not.toBe("");
    expect(await post("end", { form_token: own?.fields.form_token ?? "", delegation })).toBe(404);
    for (const act of ["end", "pause", "resume"]) expect(await post(act, { agent: "agent-1" })).toBe(403);
    expect(await Promise.all([mine, theirs].map(({ accessTokens }) => server.active(accessTokens[1]!)))).toEqual([true, true]);
  });
});
