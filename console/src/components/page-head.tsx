import { Anchor, Group, Stack, Text, Title } from "@mantine/core";
import { useDocumentTitle } from "@mantine/hooks";
import { Link, useRouter } from "@tanstack/react-router";
import { type ReactNode, type RefObject, useEffect, useRef } from "react";
import { placeOf } from "./move-on.ts";

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

/** The screen whose head was shown last. */
let shown: string | undefined;

/** Moves the focus to the heading of a screen that was moved to, and of one in whose place another head was: what had the focus is gone. */
function useFocusOnArrival(): RefObject<HTMLHeadingElement | null> {
  const heading = useRef<HTMLHeadingElement>(null);
  const router = useRouter();
  useEffect(() => {
    const place = placeOf(router.state.location);
    const hasMoved = shown !== undefined && shown !== place;
    const isLost = document.activeElement === document.body && navigator.userActivation.hasBeenActive;
    shown = place;
    if (isLost || hasMoved) heading.current?.focus({ preventScroll: true });
  }, [router]);
  return heading;
}

/** The head of a screen. */
export function PageHead({ title, back, state, detail, children }: PageHeadProps) {
  useDocumentTitle(`${title} · Countersign`);
  const heading = useFocusOnArrival();
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
            <Title order={1} className="foreign" ref={heading} tabIndex={-1}>
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
