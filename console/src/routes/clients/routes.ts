import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { listSearch } from "../../components/list-search.ts";
import { FRAME } from "../../frame/routes.tsx";

export const clientRoutes = [
  createRoute({
    getParentRoute: () => FRAME,
    path: "/clients",
    validateSearch: listSearch("q", "sort", "origin", "environment", "enabled", "unused"),
    component: lazyRouteComponent(() => import("./list.tsx"), "ClientList"),
  }),
  createRoute({
    getParentRoute: () => FRAME,
    path: "/clients/new",
    validateSearch: listSearch("kind"),
    component: lazyRouteComponent(() => import("./create.tsx"), "CreateClient"),
  }),
  createRoute({
    getParentRoute: () => FRAME,
    path: "/clients/document",
    validateSearch: listSearch("client", "tab"),
    component: lazyRouteComponent(() => import("./document.tsx"), "DocumentClient"),
  }),
  createRoute({
    getParentRoute: () => FRAME,
    path: "/clients/$id",
    validateSearch: listSearch("tab"),
    component: lazyRouteComponent(() => import("./client.tsx"), "ClientPage"),
  }),
] as const;
