import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { FRAME } from "../../frame/routes.tsx";

export const keyRoutes = [
  createRoute({
    getParentRoute: () => FRAME,
    path: "/keys",
    component: lazyRouteComponent(() => import("./keys.tsx"), "KeysPage"),
  }),
] as const;
