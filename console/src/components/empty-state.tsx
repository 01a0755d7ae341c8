import { Paper, Stack, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";

/** Why a list is empty, and what to do next. */
export interface Emptiness {
  readonly title?: string | undefined;
  readonly text: string;
  readonly action?: ReactNode;
}

export const EmptyState = ({ title, text, action }: Emptiness) => (
  <Paper withBorder p="xl">
    <Stack align="flex-start">
      {title !== undefined && <Title order={2}>{title}</Title>}
      <Text>{text}</Text>
      {action}
    </Stack>
  </Paper>
);
