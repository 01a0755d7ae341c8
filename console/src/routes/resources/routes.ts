import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { listSearch } from "../../components/list-search.ts";
import { FRAME } from "../../frame/routes.tsx";

/** A resource is named by its URI, which is in the query: paths hold no percent-encoding. */
export const resourceRoutes = [
  createRoute({
    getParentRoute: () => FRAME,
    path: "/resources",
    validateSearch: listSearch("q", "sort", "origin", "enabled"),
    component: lazyRouteComponent(() => import("./list.tsx"), "ResourceList"),
  }),
  createRoute({
    getParentRoute: () => FRAME,
    path: "/resources/new",
    validateSearch: listSearch("uri"),
    component: lazyRouteComponent(() => import("./add.tsx"), "AddResource"),
  }),
  createRoute({
    getParentRoute: () => FRAME,
    path: "/resources/view",
    validateSearch: listSearch("uri", "tab"),
    component: lazyRouteComponent(() => import("./resource.tsx"), "ResourcePage"),
  }),
] as const;
