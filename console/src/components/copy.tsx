import { Button, Code, Group, Stack, Text } from "@mantine/core";
import { useClipboard } from "@mantine/hooks";
import { T } from "../texts/texts.ts";

/** A text to copy, in the type of code. */
export const CopyBlock = ({ label, text }: { readonly label: string; readonly text: string }) => (
  <Stack gap={4} w="100%">
    <Group justify="space-between">
      <Text size="sm" fw={600}>
        {label}
      </Text>
      <CopyText label={label} text={text} />
    </Group>
    <Code block tabIndex={0} role="region" aria-label={label}>
      {text}
    </Code>
  </Stack>
);

function CopyText({ label, text }: { readonly label: string; readonly text: string }) {
  const { copy, copied, error } = useClipboard();
  return (
    <Group gap="xs">
      <Text role="status" className={error ? "" : "visually-hidden"}>
        {error ? T.common.notCopied : copied && T.common.copied}
      </Text>
      <Button size="compact-sm" variant="default" onClick={() => copy(text)} aria-label={`${T.common.copy}: ${label}`}>
        {copied ? T.common.copied : T.common.copy}
      </Button>
    </Group>
  );
}
