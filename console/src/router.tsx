import { createRoute, createRouter, lazyRouteComponent, type RouteComponent } from "@tanstack/react-router";
import { callbackRoutes } from "./auth/callback.tsx";
import { FailureNote } from "./components/failure.tsx";
import { listSearch } from "./components/list-search.ts";
import { BASE, patience } from "./environment.ts";
import { FRAME, ROOT } from "./frame/routes.tsx";

/** Search parameters are plain text: an address can be read, and typed. */
const parseSearch = (text: string): Record<string, string> => Object.fromEntries(new URLSearchParams(text));
function stringifySearch(search: Readonly<Record<string, unknown>>): string {
  const given = Object.entries(search).filter((entry): entry is [string, string] => typeof entry[1] === "string" && entry[1] !== "");
  return given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
}

type Load = () => Promise<RouteComponent>;
const lazily = (load: Load) => lazyRouteComponent(async () => ({ default: await load().catch(assertAnswers) }));

/** Where a file is missing, as after a release, the router loads the page again: while the server is away, that would be lost. @throws */
async function assertAnswers(fault: unknown): Promise<never> {
  const { ok, status } = await fetch(location.href, { signal: patience() });
  throw ok ? fault : new Error(`${status}`);
}

const reload = async (): Promise<void> => {
  if ((await fetch(location.href, { signal: patience() })).ok) location.reload();
};

/** A screen in the frame, whose code is fetched when it is opened. */
const screen = <const Path extends string>(path: Path, load: Load) =>
  createRoute({ getParentRoute: () => FRAME, path, component: lazily(load) });

/** A screen with members in the address, such as what a list filters by. */
const searched = <const Path extends string, const Key extends string>(path: Path, members: readonly Key[], load: Load) =>
  createRoute({ getParentRoute: () => FRAME, path, component: lazily(load), validateSearch: listSearch(...members) });

const tree = ROOT.addChildren([
  ...callbackRoutes,
  FRAME.addChildren([
    screen("/", async () => (await import("./routes/home/home.tsx")).Home),
    // A resource is named by its URI, which is in the query: paths hold no percent-encoding.
    searched("/resources", ["q", "sort", "origin", "enabled"], async () => (await import("./routes/resources/list.tsx")).ResourceList),
    searched("/resources/new", ["uri"], async () => (await import("./routes/resources/add.tsx")).AddResource),
    searched("/resources/view", ["uri", "tab"], async () => (await import("./routes/resources/resource.tsx")).ResourcePage),
    searched(
      "/clients",
      ["q", "sort", "origin", "environment", "enabled", "unused"],
      async () => (await import("./routes/clients/list.tsx")).ClientList,
    ),
    searched("/clients/new", ["kind"], async () => (await import("./routes/clients/create.tsx")).CreateClient),
    searched("/clients/document", ["client", "tab"], async () => (await import("./routes/clients/document.tsx")).DocumentClient),
    searched("/clients/$id", ["tab"], async () => (await import("./routes/clients/client.tsx")).ClientPage),
    searched("/agents", ["q"], async () => (await import("./routes/agents/list.tsx")).AgentList),
    screen("/agents/$id", async () => (await import("./routes/agents/agent.tsx")).AgentPage),
    searched("/users", ["q", "sort", "role", "enabled"], async () => (await import("./routes/users/list.tsx")).UserList),
    screen("/users/$id", async () => (await import("./routes/users/user.tsx")).UserPage),
    searched(
      "/audit",
      ["q", "event", "outcome", "reason", "actorId", "userId", "clientId", "grantId", "jti", "requestId"],
      async () => (await import("./routes/audit/audit.tsx")).AuditLog,
    ),
    searched("/explain", ["request"], async () => (await import("./routes/explain/explain.tsx")).Explain),
    screen("/keys", async () => (await import("./routes/keys/keys.tsx")).KeysPage),
    searched("/connections", ["q", "sort", "enabled"], async () => (await import("./routes/connections/list.tsx")).ConnectionList),
    screen("/connections/new", async () => (await import("./routes/connections/add.tsx")).AddConnection),
    searched("/connections/view", ["name"], async () => (await import("./routes/connections/connection.tsx")).ConnectionPage),
    searched("/realms", ["q", "sort"], async () => (await import("./routes/realms/list.tsx")).RealmList),
    screen("/realms/$id", async () => (await import("./routes/realms/realm.tsx")).RealmPage),
    searched("/settings", ["q"], async () => (await import("./routes/settings/settings.tsx")).SettingsPage),
  ]),
]);

export const router = createRouter({
  routeTree: tree,
  basepath: `${BASE}/console`,
  parseSearch,
  stringifySearch,
  scrollRestoration: true,
  defaultPreload: "intent",
  // The file of a screen that did not arrive, after the router has loaded the page once more.
  defaultErrorComponent: ({ error }) => <FailureNote error={error} retry={() => void reload().catch(() => undefined)} />,
  // Forms and new secrets belong to one record: the screen of another one does not keep them.
  defaultRemountDeps: ({ params }) => params,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
