import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { listSearch } from "../../components/list-search.ts";
import { FRAME } from "../../frame/routes.tsx";

export const auditRoutes = [
  createRoute({
    getParentRoute: () => FRAME,
    path: "/audit",
    validateSearch: listSearch("q", "event", "outcome", "reason", "actorId", "userId", "clientId", "grantId", "jti", "requestId"),
    component: lazyRouteComponent(() => import("./audit.tsx"), "AuditLog"),
  }),
] as const;
