import { Notifications } from "@mantine/notifications";
import { createRootRoute, createRoute, Outlet } from "@tanstack/react-router";
import { Confirmations } from "../components/confirm.tsx";
import { NotFound } from "../components/not-found.tsx";
import { Proofs } from "../components/proof.tsx";
import { Shell } from "./shell.tsx";

/** Questions and messages of every screen, which may have links. */
const Root = () => (
  <Confirmations>
    <Notifications position="bottom-right" notificationMaxHeight="calc(100dvh - 2 * var(--mantine-spacing-md))" />
    <Proofs />
    <Outlet />
  </Confirmations>
);

export const ROOT = createRootRoute({ component: Root, notFoundComponent: NotFound });

/** Parent of every screen: rail, header, search. */
export const FRAME = createRoute({ getParentRoute: () => ROOT, id: "frame", component: Shell, notFoundComponent: NotFound });
