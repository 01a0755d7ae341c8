import { T } from "../texts/texts.ts";
import type { IconName } from "./icons.tsx";

/** One line of the rail. */
export interface Screen {
  readonly to: string;
  readonly label: string;
  readonly icon: IconName;
  /** For operators alone: what is said to others. The server decides what anyone may do; this only leaves out what would be refused. */
  readonly operators?: string;
  /** Whether a new group begins with it. */
  readonly begins?: true;
}

const { operators } = T.failure;

/** The rail, from top to bottom. A screen is added here and in router.tsx (console/README.md). */
export const SCREENS: readonly Screen[] = [
  { to: "/", label: T.rail.home, icon: "home" },
  { to: "/resources", label: T.rail.resources, icon: "resources", operators: T.resources.forDevelopers },
  { to: "/clients", label: T.rail.clients, icon: "clients" },
  { to: "/agents", label: T.rail.agents, icon: "agents", operators },
  { to: "/users", label: T.rail.users, icon: "users", operators },
  { to: "/audit", label: T.rail.audit, icon: "audit", operators, begins: true },
  { to: "/explain", label: T.rail.explain, icon: "explain", operators },
  { to: "/keys", label: T.rail.keys, icon: "keys", operators, begins: true },
  { to: "/connections", label: T.rail.connections, icon: "connections", operators },
  { to: "/workloads", label: T.rail.workloads, icon: "workloads", operators },
  { to: "/realms", label: T.rail.realms, icon: "realms", operators },
  { to: "/settings", label: T.rail.settings, icon: "settings", operators },
];

/** The screen that the pattern of a route belongs to, such as /users/$id. Pure. */
export const screenOf = (pattern: string): Screen | undefined =>
  SCREENS.find(({ to }) => (to === "/" ? pattern === to : `${pattern}/`.startsWith(`${to}/`)));
