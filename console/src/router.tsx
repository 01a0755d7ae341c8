import { createRoute, createRouter, type RouteComponent } from "@tanstack/react-router";
import { callbackRoutes } from "./auth/callback.tsx";
import { listSearch } from "./components/list-search.ts";
import { BrokenScreen } from "./components/other-release.tsx";
import { BASE } from "./environment.ts";
import { FRAME, ROOT } from "./frame/routes.tsx";
import { AgentPage } from "./routes/agents/agent.tsx";
import { AgentList } from "./routes/agents/list.tsx";
import { AuditLog } from "./routes/audit/audit.tsx";
import { ClientPage } from "./routes/clients/client.tsx";
import { CreateClient } from "./routes/clients/create.tsx";
import { DocumentClient } from "./routes/clients/document.tsx";
import { ClientList } from "./routes/clients/list.tsx";
import { AddConnection } from "./routes/connections/add.tsx";
import { ConnectionPage } from "./routes/connections/connection.tsx";
import { ConnectionList } from "./routes/connections/list.tsx";
import { Explain } from "./routes/explain/explain.tsx";
import { Home } from "./routes/home/home.tsx";
import { KeysPage } from "./routes/keys/keys.tsx";
import { RealmList } from "./routes/realms/list.tsx";
import { RealmPage } from "./routes/realms/realm.tsx";
import { AddResource } from "./routes/resources/add.tsx";
import { ResourceList } from "./routes/resources/list.tsx";
import { ResourcePage } from "./routes/resources/resource.tsx";
import { SettingsPage } from "./routes/settings/settings.tsx";
import { UserList } from "./routes/users/list.tsx";
import { UserPage } from "./routes/users/user.tsx";
import { PlatformList } from "./routes/workloads/list.tsx";
import { PlatformPage } from "./routes/workloads/platform.tsx";

/** Search parameters are plain text: an address can be read, and typed. */
const parseSearch = (text: string): Record<string, string> => Object.fromEntries(new URLSearchParams(text));
function stringifySearch(search: Readonly<Record<string, unknown>>): string {
  const given = Object.entries(search).filter((entry): entry is [string, string] => typeof entry[1] === "string" && entry[1] !== "");
  return given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
}

/** A screen in the frame. */
const screen = <const Path extends string>(path: Path, component: RouteComponent) =>
  createRoute({ getParentRoute: () => FRAME, path, component });

/** A screen with members in the address, such as what a list filters by. */
const searched = <const Path extends string, const Key extends string>(path: Path, members: readonly Key[], component: RouteComponent) =>
  createRoute({ getParentRoute: () => FRAME, path, component, validateSearch: listSearch(...members) });

const tree = ROOT.addChildren([
  ...callbackRoutes,
  FRAME.addChildren([
    screen("/", Home),
    // A resource is named by its URI, which is in the query: paths hold no percent-encoding.
    searched("/resources", ["q", "sort", "origin", "enabled"], ResourceList),
    searched("/resources/new", ["uri"], AddResource),
    searched("/resources/view", ["uri", "tab"], ResourcePage),
    searched("/clients", ["q", "sort", "origin", "environment", "enabled", "unused"], ClientList),
    searched("/clients/new", ["kind"], CreateClient),
    searched("/clients/document", ["client", "tab"], DocumentClient),
    searched("/clients/$id", ["tab"], ClientPage),
    searched("/agents", ["q"], AgentList),
    screen("/agents/$id", AgentPage),
    searched("/users", ["q", "sort", "role", "enabled"], UserList),
    screen("/users/$id", UserPage),
    searched(
      "/audit",
      ["q", "event", "outcome", "reason", "actorId", "userId", "clientId", "grantId", "jti", "requestId", "resource", "since", "until"],
      AuditLog,
    ),
    searched("/explain", ["request"], Explain),
    screen("/keys", KeysPage),
    searched("/connections", ["q", "sort", "enabled"], ConnectionList),
    screen("/connections/new", AddConnection),
    searched("/connections/view", ["name"], ConnectionPage),
    searched("/workloads", ["q", "sort", "kind"], PlatformList),
    searched("/workloads/view", ["uri"], PlatformPage),
    searched("/realms", ["q", "sort"], RealmList),
    screen("/realms/$id", RealmPage),
    searched("/settings", ["q"], SettingsPage),
  ]),
]);

export const router = createRouter({
  routeTree: tree,
  basepath: `${BASE}/console`,
  parseSearch,
  stringifySearch,
  scrollRestoration: true,
  defaultErrorComponent: BrokenScreen,
  // Forms and new secrets belong to one record: the screen of another one does not keep them.
  defaultRemountDeps: ({ params }) => params,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
