import { aBrowser } from "./browser.ts";
import { AGENTS, actionsOf, CALLBACK, CROWD, client, EXCHANGE, type Member, RESOURCE_SERVER, TOKEN, WEB } from "./crowd-ways.ts";
import { PASSWORD, type ServerDriver } from "./flow.ts";
import { pause } from "./processes.ts";

/** The result of an action: its name and the statuses of its responses. */
export interface ActResult {
  readonly act: string;
  readonly statuses: readonly number[];
  /** How often a credential that can be used once was accepted. */
  readonly taken?: number;
}

/** Users, their clients and agents, and an operator, who act concurrently at all fronts. The first one is where the issuer's name leads. */
export function aCrowd(fronts: readonly ServerDriver[], random: () => number) {
  const issuer = fronts[0]?.url ?? "";
  const { pick, front, call, asOperator, operatorSignsIn, browserOf, accountPageHandler, signIn, redeem, codeFor, leave } = actionsOf(
    fronts,
    random,
  );
  const members: Member[] = [];
  const newUser = () => front().signedInUser();

  const acts = {
    "sign in": async (member: Member) => ({ statuses: [await signIn(member)] }),
    authorize: async (member: Member) => {
      const { status, fields } = await codeFor(member, WEB);
      return fields === undefined ? { statuses: [status] } : redeem(member, WEB, fields, 1);
    },
    "authorize, and redeem three times": async (member: Member) => {
      const { status, fields } = await codeFor(member, WEB);
      return fields === undefined ? { statuses: [status] } : redeem(member, WEB, fields, 3);
    },
    "authorize a client of a user": async (member: Member) => {
      const own = pick(members.flatMap(({ ownClients }) => ownClients));
      if (own === undefined) return { statuses: [] };
      const { status, fields } = await codeFor(member, own.as);
      return fields === undefined ? { statuses: [status] } : redeem(member, own.as, fields, 1);
    },
    "refresh twice": async (member: Member) => {
      const refreshToken = member.refreshTokens.pop();
      if (refreshToken === undefined) return { statuses: [] };
      const fields = { grant_type: "refresh_token", refresh_token: refreshToken };
      return redeem(member, WEB, fields, 2);
    },
    refresh: async (member: Member) => {
      const refreshToken = member.refreshTokens.pop();
      if (refreshToken === undefined) return { statuses: [] };
      return redeem(member, WEB, { grant_type: "refresh_token", refresh_token: refreshToken }, 1);
    },
    exchange: async (member: Member) => {
      const subject = pick(member.accessTokens);
      if (subject === undefined) return { statuses: [] };
      const exchange = (agent: string, token: string) => {
        const fields = { grant_type: EXCHANGE, subject_token: token, subject_token_type: TOKEN };
        return front().token(client(agent), fields);
      };
      const answers = await Promise.all(AGENTS.map((agent) => exchange(agent, subject)));
      for (const { status, body } of answers) if (status === 200) member.accessTokens.push(body.access_token);
      return { statuses: answers.map(({ status }) => status) };
    },
    introspect: async (member: Member) => {
      const some = Array.from({ length: 4 }, () => pick(member.accessTokens) ?? "none");
      const introspect = async (token: string) => (await front().introspect(RESOURCE_SERVER, token)).status;
      // Repeated as Retry-After says: it has a second, a third of what other requests have, and a slow machine may need more.
      const patiently = async (token: string) => {
        const status = await introspect(token);
        return status === 503 ? pause(1_000).then(() => introspect(token)) : status;
      };
      return { statuses: await Promise.all(some.map(patiently)) };
    },
    revoke: async (member: Member) => {
      const tokens = [member.refreshTokens.pop(), pick(member.accessTokens)].filter((token) => token !== undefined);
      return { statuses: await Promise.all(tokens.map(async (token) => (await front().revoke(WEB, token)).status)) };
    },
    "view the account": async (member: Member) => {
      const [one, other] = await Promise.all(["/account", "/account/agents"].map((path) => browserOf(member).follow(path)));
      return { statuses: [one?.status ?? 0, other?.status ?? 0] };
    },
    "pause or end an agent": async (member: Member) => ({
      statuses: await accountPageHandler(member, "/account/agents", { agent: pick(AGENTS) ?? "" }),
    }),
    "change the password": async (member: Member) => {
      const password = member.password === PASSWORD ? `${PASSWORD} and more` : PASSWORD;
      const statuses = await accountPageHandler(member, "/account/security/password", { password });
      if (statuses.at(-1) === 200 && statuses.length === 2) member.password = password;
      return { statuses };
    },
    "sign out everywhere": async (member: Member) => ({
      statuses: [(await call("POST", "/auth/logout", pick(member.bearers))).status, await signIn(member)],
    }),
    "sign out the others": async (member: Member) => ({
      statuses: await accountPageHandler(member, "/account/security", { "end-others": "" }),
    }),
    "revoke a consent": async (member: Member) => {
      const browser = browserOf(member);
      const { status, body } = await browser.json("/consents/", undefined, "GET");
      const consent = pick((body?.consents ?? []) as { id: string }[]);
      if (consent === undefined) return { statuses: [status] };
      const headers = { "x-csrf-token": body.csrfToken as string };
      return { statuses: [(await browser.request(`/consents/${consent.id}`, { method: "DELETE", headers })).status] };
    },
    "request a password reset": async (member: Member) => {
      const ask = () => call("POST", "/auth/forgot-password", undefined, { email: member.email });
      return { statuses: (await Promise.all([ask(), ask()])).map(({ status }) => status) };
    },
    "register a client": async (member: Member) => {
      const scopes = ["openid"];
      const grantTypes = ["authorization_code", "client_credentials"];
      const members = { name: "Own", redirectUris: [CALLBACK], scopes, grantTypes };
      const { status, body } = await call("POST", "/api/clients/", pick(member.bearers), members);
      const { id, clientId, clientSecret } = body as { id: string; clientId: string; clientSecret: string };
      if (status === 201) member.ownClients.push({ id, as: { clientId, secret: clientSecret, redirectUri: CALLBACK } });
      return { statuses: [status] };
    },
    "change a client": async (member: Member) => {
      const own = pick(member.ownClients);
      if (own === undefined) return { statuses: [] };
      const bearer = pick(member.bearers);
      const answers = await Promise.all([
        call("PATCH", `/api/clients/${own.id}`, bearer, { name: `Own ${Math.floor(random() * 100)}` }),
        call("POST", `/api/clients/${own.id}/api-keys`, bearer, { name: "k" }),
        front().token(own.as, { grant_type: "client_credentials" }),
      ]);
      return { statuses: answers.map(({ status }) => status) };
    },
    "delete a client": async (member: Member) => {
      const own = member.ownClients.shift();
      if (own === undefined) return { statuses: [] };
      return { statuses: [(await call("DELETE", `/api/clients/${own.id}`, pick(member.bearers))).status] };
    },
    "operator: cut": async (member: Member) => {
      const agent = asOperator("delegations.cut", { kind: "agent", clientId: pick(AGENTS), userId: member.id });
      return { statuses: [(await agent).status] };
    },
    "operator: pause and resume": async () => {
      const clientId = pick(AGENTS);
      const paused = await asOperator("agents.pause", { clientId });
      return { statuses: [paused.status, (await asOperator("agents.resume", { clientId })).status] };
    },
    "operator: disable and enable": async (member: Member) => {
      const disabled = await asOperator("users.disable", { id: member.id });
      return { statuses: [disabled.status, (await asOperator("users.enable", { id: member.id })).status, await signIn(member)] };
    },
    "operator: delete a client": async () => {
      const own = pick(members.flatMap(({ ownClients }) => ownClients));
      return { statuses: own === undefined ? [] : [(await asOperator("clients.delete", { id: own.id })).status] };
    },
    "operator: apply a provisioning file": async () => {
      const description = `applied ${Math.floor(random() * 1000)}`;
      return { statuses: [(await asOperator("provision", { clients: CROWD.clients.map((each) => ({ ...each, description })) })).status] };
    },
    "delete the account": async (member: Member) => ({ statuses: await leave(member) }),
    "delete the account while an operator disables it": async (member: Member) => {
      const disabled = asOperator("users.disable", { id: member.id });
      const deleted = member.ownClients.map(({ id }) => asOperator("clients.delete", { id }));
      const left = leave(member);
      const statuses = (await Promise.all([disabled, ...deleted])).map(({ status }) => status);
      return { statuses: [...statuses, ...(await left)] };
    },
    "two users of each other's clients delete their accounts": async (member: Member) => {
      const statuses = await Promise.all([leave(member), leave(pick(members) as Member)]);
      return { statuses: statuses.flat() };
    },
  } as const;
  type Act = keyof typeof acts;
  /** Frequent actions, so that there are always tokens to revoke. */
  const OFTEN: readonly Act[] = ["authorize", "authorize, and redeem three times", "refresh twice", "refresh", "exchange", "introspect"];

  const every = Object.keys(acts) as Act[];
  let turn = Math.floor(random() * every.length);
  /** Takes the actions in turn, so that each occurs about equally often. */
  const nextAct = (): Act | undefined => every[turn++ % every.length];

  const perform = async (act: Act, member: Member): Promise<ActResult> => ({ act, ...(await acts[act](member)) });

  return {
    operatorSignsIn,

    /** A user signs up, and signs in on two devices. */
    async join(): Promise<readonly ActResult[]> {
      const { email, id, browser, login } = await newUser().catch((error: Error) => {
        if (!error.message.startsWith("not signed in: 503")) throw error;
        return pause(1_000).then(newUser); // as introspections are repeated: once, after Retry-After
      });
      const browsers = fronts.map(({ url }) => aBrowser(issuer, {}, url));
      for (const each of browsers) for (const [name, value] of browser.cookies) each.cookies.set(name, value);
      const [bearers, refreshTokens] = [[login.access_token as string], [] as string[]];
      const member = { email, id, browsers, password: PASSWORD, bearers, refreshTokens, accessTokens: [], ownClients: [] };
      members.push(member);
      const signedIn = await signIn(member, browsers[1]);
      const own = [];
      for (const act of ["register a client", "authorize", "authorize a client of a user"] as const) own.push(await perform(act, member));
      return [{ act: "sign up", statuses: [signedIn] }, ...own];
    },

    /** Performs an action of a new user, beside no other. */
    async alone(act: Act): Promise<readonly ActResult[]> {
      const joined = await this.join();
      return [...joined, await perform(act, members.at(-1) as Member)];
    },

    /** A user allows a new client at one front, beside no other. @param at index of the front */
    async allow(at: number): Promise<ActResult> {
      await this.join();
      const member = members.at(-1) as Member;
      await perform("register a client", member);
      const { as } = member.ownClients.at(-1) as Member["ownClients"][number];
      const { status, fields } = await codeFor(member, as, member.browsers[at]);
      return { act: `allow at front ${at}`, ...(fields === undefined ? { statuses: [status] } : await redeem(member, as, fields, 1)) };
    },

    /** Runs `count` actions of random members concurrently. */
    moment(count: number): Promise<readonly ActResult[]> {
      const some = Array.from({ length: count }, () => (random() < 0.4 ? pick(OFTEN) : nextAct()) as Act);
      return Promise.all(some.map((act) => perform(act, pick(members) as Member)));
    },
  };
}
