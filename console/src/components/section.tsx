import { Paper, Stack, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";
import { Pending, type Readable } from "./failure.tsx";

interface SectionProps {
  readonly title: string;
  /** What it shows, which stays when it cannot be read again. */
  readonly of?: Readable & { readonly data: unknown };
  /** Shown instead of the content; undefined: there is some. */
  readonly empty?: string | undefined;
  readonly children?: ReactNode;
}

/** A part of a screen, which says by itself why it cannot be read. */
export const Section = ({ title, of, empty, children }: SectionProps) => (
  <Paper withBorder p="md" component="section" aria-label={title}>
    <Stack gap="sm">
      <Title order={2} size="h4">
        {title}
      </Title>
      {of !== undefined && of.data === undefined ? (
        <Pending of={[of]} height={48} />
      ) : empty === undefined ? (
        children
      ) : (
        <Text c="dimmed">{empty}</Text>
      )}
    </Stack>
  </Paper>
);
