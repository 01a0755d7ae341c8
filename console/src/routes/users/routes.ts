import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { listSearch } from "../../components/list-search.ts";
import { FRAME } from "../../frame/routes.tsx";

export const userRoutes = [
  createRoute({
    getParentRoute: () => FRAME,
    path: "/users",
    validateSearch: listSearch("q", "sort", "role", "enabled"),
    component: lazyRouteComponent(() => import("./list.tsx"), "UserList"),
  }),
  createRoute({
    getParentRoute: () => FRAME,
    path: "/users/$id",
    component: lazyRouteComponent(() => import("./user.tsx"), "UserPage"),
  }),
] as const;
