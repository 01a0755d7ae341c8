import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { listSearch } from "../../components/list-search.ts";
import { FRAME } from "../../frame/routes.tsx";

export const realmRoutes = [
  createRoute({
    getParentRoute: () => FRAME,
    path: "/realms",
    validateSearch: listSearch("q", "sort"),
    component: lazyRouteComponent(() => import("./list.tsx"), "RealmList"),
  }),
  createRoute({
    getParentRoute: () => FRAME,
    path: "/realms/$id",
    component: lazyRouteComponent(() => import("./realm.tsx"), "RealmPage"),
  }),
] as const;
