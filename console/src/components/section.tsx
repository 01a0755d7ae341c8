import { Paper, Stack, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";
import { FailureNote } from "./failure.tsx";

interface SectionProps {
  readonly title: string;
  readonly error?: unknown;
  /** Shown instead of the content; undefined: there is some. */
  readonly empty?: string | undefined;
  readonly children?: ReactNode;
}

/** A part of a screen, with its own error. */
export const Section = ({ title, error, empty, children }: SectionProps) => (
  <Paper withBorder p="md" component="section" aria-label={title}>
    <Stack gap="sm">
      <Title order={2} size="h4">
        {title}
      </Title>
      {error ? <FailureNote error={error} /> : empty === undefined ? children : <Text c="dimmed">{empty}</Text>}
    </Stack>
  </Paper>
);
