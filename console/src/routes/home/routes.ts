import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { FRAME } from "../../frame/routes.tsx";

export const homeRoutes = [
  createRoute({ getParentRoute: () => FRAME, path: "/", component: lazyRouteComponent(() => import("./home.tsx"), "Home") }),
] as const;
