import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { listSearch } from "../../components/list-search.ts";
import { FRAME } from "../../frame/routes.tsx";

export const explainRoutes = [
  createRoute({
    getParentRoute: () => FRAME,
    path: "/explain",
    validateSearch: listSearch("request"),
    component: lazyRouteComponent(() => import("./explain.tsx"), "Explain"),
  }),
] as const;
