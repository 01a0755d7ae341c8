import { Button, Code, Group, Stack, Text } from "@mantine/core";
import { useClipboard } from "@mantine/hooks";
import { useEffect } from "react";
import { T } from "../texts/texts.ts";

/** Secrets on this page that were not copied yet. No other page shows them: while there are any, the browser asks before it leaves. */
const uncopied = new Set<string>();
function setUncopied(change: () => unknown): void {
  change();
  self.onbeforeunload = uncopied.size === 0 ? null : (event) => event.preventDefault();
}
const noteCopy = (copied: string): void =>
  setUncopied(() => [...uncopied].filter((each) => copied.includes(each)).map((each) => uncopied.delete(each)));
addEventListener("copy", () => noteCopy(String(getSelection())));

interface CopyProps {
  readonly label: string;
  readonly text: string;
}

/** A text to copy, in the type of code. */
export const CopyBlock = ({ label, text }: CopyProps) => (
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

/** A text that is shown this once. */
export function SecretBlock(secret: CopyProps) {
  const { text } = secret;
  useEffect(() => {
    setUncopied(() => uncopied.add(text));
    return () => setUncopied(() => uncopied.delete(text));
  }, [text]);
  return <CopyBlock {...secret} />;
}

function CopyText({ label, text }: CopyProps) {
  const { copy, copied, error } = useClipboard();
  useEffect(() => {
    if (copied) noteCopy(text);
  }, [copied, text]);
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
