import { Stack, Text, Title } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import { createRootRoute, createRoute, Outlet } from "@tanstack/react-router";
import { Confirmations } from "../components/confirm.tsx";
import { Proofs } from "../components/proof.tsx";
import { T } from "../texts/texts.ts";
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

function NotFound() {
  return (
    <Stack component="main" p="md">
      <Title order={1}>{T.failure.notFoundTitle}</Title>
      <Text>{T.failure.notFound}</Text>
    </Stack>
  );
}
