import { Anchor, Group, Stack, Text, Title } from "@mantine/core";
import { useDocumentTitle } from "@mantine/hooks";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

interface PageHeadProps {
  /** Also the title of the document. */
  readonly title: string;
  /** The list that this is a part of. */
  readonly back?: { readonly to: string; readonly label: string };
  /** Badges beside the title. */
  readonly state?: ReactNode;
  /** An identifier, or a sentence about the screen. */
  readonly detail?: ReactNode;
  /** The main acts, at the end of the line. */
  readonly children?: ReactNode;
}

/** The head of a screen. */
export function PageHead({ title, back, state, detail, children }: PageHeadProps) {
  useDocumentTitle(`${title} · Countersign`);
  return (
    <Stack gap={4}>
      {back !== undefined && (
        <Anchor component={Link} to={back.to as never} size="sm" w="fit-content">
          <span aria-hidden="true">← </span>
          {back.label}
        </Anchor>
      )}
      <Group justify="space-between" align="flex-start" gap="sm">
        <Stack gap={4} flex="1 1 20rem" miw={0}>
          <Group gap="sm">
            <Title order={1} className="foreign">
              {title}
            </Title>
            {state}
          </Group>
          {detail !== undefined && (
            <Text c="dimmed" component="div" className="foreign">
              {detail}
            </Text>
          )}
        </Stack>
        {children !== undefined && <Group gap="xs">{children}</Group>}
      </Group>
    </Stack>
  );
}
