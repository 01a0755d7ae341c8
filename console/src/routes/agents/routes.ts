import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { listSearch } from "../../components/list-search.ts";
import { FRAME } from "../../frame/routes.tsx";

export const agentRoutes = [
  createRoute({
    getParentRoute: () => FRAME,
    path: "/agents",
    validateSearch: listSearch("q"),
    component: lazyRouteComponent(() => import("./list.tsx"), "AgentList"),
  }),
  createRoute({
    getParentRoute: () => FRAME,
    path: "/agents/$id",
    component: lazyRouteComponent(() => import("./agent.tsx"), "AgentPage"),
  }),
] as const;
