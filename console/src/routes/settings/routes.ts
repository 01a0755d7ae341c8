import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { listSearch } from "../../components/list-search.ts";
import { FRAME } from "../../frame/routes.tsx";

export const settingRoutes = [
  createRoute({
    getParentRoute: () => FRAME,
    path: "/settings",
    validateSearch: listSearch("q"),
    component: lazyRouteComponent(() => import("./settings.tsx"), "SettingsPage"),
  }),
] as const;
