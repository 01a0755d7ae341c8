import { T } from "../texts/texts.ts";
import type { IconName } from "./icons.tsx";

/** One line of the rail. */
export interface Screen {
  readonly to: string;
  readonly label: string;
  readonly icon: IconName;
  /** Shown to operators alone. The server decides what anyone may do; this only leaves out what would be refused. */
  readonly operators?: true;
  /** Whether a new group begins with it. */
  readonly begins?: true;
}

/** The rail, from top to bottom. A screen is added here and in router.tsx (console/README.md). */
export const SCREENS: readonly Screen[] = [
  { to: "/", label: T.rail.home, icon: "home" },
  { to: "/resources", label: T.rail.resources, icon: "resources", operators: true },
  { to: "/clients", label: T.rail.clients, icon: "clients" },
  { to: "/agents", label: T.rail.agents, icon: "agents", operators: true },
  { to: "/users", label: T.rail.users, icon: "users", operators: true },
  { to: "/audit", label: T.rail.audit, icon: "audit", operators: true, begins: true },
  { to: "/explain", label: T.rail.explain, icon: "explain", operators: true },
  { to: "/keys", label: T.rail.keys, icon: "keys", operators: true, begins: true },
  { to: "/realms", label: T.rail.realms, icon: "realms", operators: true },
  { to: "/settings", label: T.rail.settings, icon: "settings", operators: true },
];
