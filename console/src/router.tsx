import { createRouter } from "@tanstack/react-router";
import { callbackRoutes } from "./auth/callback.tsx";
import { FailureNote } from "./components/failure.tsx";
import { BASE } from "./environment.ts";
import { FRAME, ROOT } from "./frame/routes.tsx";
import { agentRoutes } from "./routes/agents/routes.ts";
import { auditRoutes } from "./routes/audit/routes.ts";
import { clientRoutes } from "./routes/clients/routes.ts";
import { explainRoutes } from "./routes/explain/routes.ts";
import { homeRoutes } from "./routes/home/routes.ts";
import { keyRoutes } from "./routes/keys/routes.ts";
import { realmRoutes } from "./routes/realms/routes.ts";
import { resourceRoutes } from "./routes/resources/routes.ts";
import { settingRoutes } from "./routes/settings/routes.ts";
import { userRoutes } from "./routes/users/routes.ts";

/** Search parameters are plain text: an address can be read, and typed. */
const parseSearch = (text: string): Record<string, string> => Object.fromEntries(new URLSearchParams(text));
function stringifySearch(search: Readonly<Record<string, unknown>>): string {
  const given = Object.entries(search).filter((entry): entry is [string, string] => typeof entry[1] === "string" && entry[1] !== "");
  return given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
}

const tree = ROOT.addChildren([
  ...callbackRoutes,
  FRAME.addChildren([
    ...homeRoutes,
    ...resourceRoutes,
    ...clientRoutes,
    ...agentRoutes,
    ...userRoutes,
    ...auditRoutes,
    ...explainRoutes,
    ...keyRoutes,
    ...realmRoutes,
    ...settingRoutes,
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
  defaultErrorComponent: ({ error }) => <FailureNote error={error} retry={() => location.reload()} />,
  // Forms and new secrets belong to one record: the screen of another one does not keep them.
  defaultRemountDeps: ({ params }) => params,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
